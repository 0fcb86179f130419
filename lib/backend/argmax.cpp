// One pass: the best so far, and whether everything was finite.
#include "backend/argmax.h"

#include <cmath>
#include <cstddef>

namespace takt {

int32_t argmax_row(std::span<const float> logits) {
    size_t best = 0;
    bool finite = !logits.empty();
    for (size_t i = 0; i < logits.size(); ++i) {
        finite = finite && std::isfinite(logits[i]);
        if (logits[i] > logits[best]) best = i;
    }
    return finite ? static_cast<int32_t>(best) : -1;
}

}  // namespace takt
