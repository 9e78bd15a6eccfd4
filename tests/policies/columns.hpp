// The small traces of the conformance kit, under the names that tests use.
#pragma once

#include "policies/sample_columns.hpp"

namespace refrain::testing {

using refrain::chain_columns;
using refrain::object_columns;

}  // namespace refrain::testing
