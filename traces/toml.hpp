// toml++, included in one way only. Some of its assertions fail on bad text that the parser goes on
// to report ("[!"): without NDEBUG they would end the program, and with it they are promises to the
// compiler that do not hold. Here they are neither.
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
