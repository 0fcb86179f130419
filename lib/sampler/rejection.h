// The classic rule of speculative sampling: a draft drawn from q is kept with probability p/q, else a token
// is drawn from what p has above q. What comes out is distributed as p, though it is not what a draw from p
// alone with the same number would have been.
#pragma once

#include <cstdint>
#include <span>

namespace takt {

// model, draft: probabilities of each token; draft empty: it was sure of draft_id. seed and position: of the
// request and of the token that is decided.
int32_t keep_or_redraw(int32_t draft_id, std::span<const float> model, std::span<const float> draft,
                       uint64_t seed, uint64_t position);

}  // namespace takt
