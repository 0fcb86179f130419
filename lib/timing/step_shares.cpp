// Before a cost is known, rows share alike: the first prompts beside decode rows are cut small for that
// reason too.
#include "timing/step_shares.h"

#include <algorithm>

namespace takt {
namespace {

uint64_t part(uint64_t ns, double share) {
    return std::min(ns, static_cast<uint64_t>(static_cast<double>(ns) * std::clamp(share, 0.0, 1.0)));
}

}  // namespace

StepShares StepShares::of(uint64_t step_ns, uint32_t decode_rows, uint32_t prefill_rows,
                          double decode_cost_ns) {
    StepShares shares{0, 0, decode_rows, prefill_rows};
    if (prefill_rows == 0) {
        shares.decode_ns = step_ns;
    } else if (decode_rows > 0) {
        const double alike = static_cast<double>(step_ns) * decode_rows / (decode_rows + prefill_rows);
        const double cost = decode_cost_ns > 0 ? decode_cost_ns : alike;
        shares.decode_ns = std::min(step_ns, static_cast<uint64_t>(cost));
    }
    shares.prefill_ns = step_ns - shares.decode_ns;
    return shares;
}

uint64_t StepShares::prefill_part_ns(uint32_t n_rows) const {
    if (prefill_rows == 0) return 0;
    return n_rows >= prefill_rows ? prefill_ns : part(prefill_ns, static_cast<double>(n_rows) / prefill_rows);
}

uint64_t StepShares::decode_part_ns(uint32_t n_rows, double cost_ratio) const {
    if (decode_rows == 0 || n_rows == 0) return 0;
    if (n_rows >= decode_rows) return decode_ns;
    return part(decode_ns, cost_ratio > 0 ? cost_ratio : static_cast<double>(n_rows) / decode_rows);
}

}  // namespace takt
