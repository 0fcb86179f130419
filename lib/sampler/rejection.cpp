// Two numbers of their own for each position, so that neither depends on the one the draft was drawn with.
#include "sampler/rejection.h"

#include <algorithm>

#include "sampler/random.h"

namespace takt {
namespace {

constexpr uint64_t kKeepNumbers = 0x5bd1e9955bd1e995, kRedrawNumbers = 0xc2b2ae3d27d4eb4f;

}  // namespace

int32_t keep_or_redraw(int32_t draft_id, std::span<const float> model, std::span<const float> draft,
                       uint64_t seed, uint64_t position) {
    const auto excess = [&](size_t id) {
        const float taken = draft.empty() ? (id == static_cast<size_t>(draft_id) ? 1.0f : 0.0f) : draft[id];
        return std::max(0.0, double{model[id]} - double{taken});
    };
    const auto drafted = static_cast<size_t>(draft_id);
    const double q = draft.empty() ? 1 : draft[drafted];
    if (random_unit(seed ^ kKeepNumbers, position) * q < model[drafted]) return draft_id;
    double sum = 0;
    for (size_t id = 0; id < model.size(); ++id) sum += excess(id);
    const double drawn = random_unit(seed ^ kRedrawNumbers, position) * sum;
    double passed = 0;
    int32_t last = draft_id;  // where rounding leaves nothing above q, p and q are the same
    for (size_t id = 0; id < model.size(); ++id) {
        const double more = excess(id);
        if (more == 0) continue;
        last = static_cast<int32_t>(id);
        passed += more;
        if (drawn < passed) break;
    }
    return last;
}

}  // namespace takt
