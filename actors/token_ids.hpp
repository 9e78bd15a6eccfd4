// Which tokens a prompt has, where they are computed and the workload only names content: made up
// from the names, so that equal content has equal tokens wherever it stands.
#pragma once

#include <span>
#include <vector>

#include "traces/corpus/token_book.hpp"
#include "traces/keys.hpp"
#include "traces/request.hpp"

namespace refrain {

/// The prompt's tokens in order, each below `vocabulary`; then the answer's, where a later prompt
/// contains it (request.answer): it is computed as it will stand there. Token j of content c is a
/// function of c and j (its text's, where `words` knows it), that of a block of the trace one of
/// its key; what nothing names is the request's own. `keys` are the request's under the scheme.
std::vector<token_id> tokens_of(const request& row, const key_scheme& scheme,
                                std::span<const block_key> keys, std::int64_t vocabulary,
                                const token_book* words = nullptr);

}  // namespace refrain
