// Each number of rows has a running mean; a line joins the known ones.
#include "engine/step_costs.h"

#include <algorithm>

namespace takt {
namespace {

constexpr double kNewest = 0.2;  // weight of the last step
constexpr double kOutlier =
    2;  // a step that was held up from outside counts as so many times the mean at most
constexpr double kFirstGuess = 0.05;  // of a row more, in steps, while only one number of rows is known: low,
                                      // so that it is tried and then known

}  // namespace

void StepCosts::record(uint32_t n_rows, uint64_t ns) {
    if (n_rows == 0 || n_rows > kMostRows || ns == 0) return;
    double& mean = ns_[n_rows];
    const auto sample = static_cast<double>(ns);
    if (mean == 0) {
        mean = sample;
    } else {
        mean += kNewest * (std::min(sample, kOutlier * mean) - mean);
    }
    lowest_ = lowest_ == 0 ? n_rows : std::min(lowest_, n_rows);
    highest_ = std::max(highest_, n_rows);
}

double StepCosts::ns(uint32_t n_rows) const {
    if (lowest_ == 0) return 0;
    if (lowest_ == highest_) {
        const double more = static_cast<double>(n_rows) - lowest_;
        return ns_[lowest_] * std::max(0.5, 1 + kFirstGuess * more);
    }
    uint32_t below = std::clamp(n_rows, lowest_, highest_), above = below;
    while (ns_[below] == 0) --below;
    while (ns_[above] == 0) ++above;
    if (below == above && n_rows >= lowest_ && n_rows <= highest_) return ns_[below];
    if (below == above) {  // beyond: as it went between the ends
        below = lowest_;
        above = highest_;
    }
    const double slope = std::max(0.0, (ns_[above] - ns_[below]) / (above - below));
    return std::max(ns_[below] / 2, ns_[below] + slope * (static_cast<double>(n_rows) - below));
}

}  // namespace takt
