// Between two measured steps the cost is a straight line. Beyond the last one a prefill goes on as the last
// line did, and a decode as the prefill does there.
#include "engine/step_cost_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace takt {
namespace {

constexpr double kMostNs = 1e15;  // eleven days: a step that takes longer is a mistake

using Table = std::vector<StepCostPoint>;

bool is_cost(double ns) {
    return std::isfinite(ns) && ns > 0 && ns <= kMostNs;
}

Status check_table(std::string_view name, const Table& table) {
    if (table.empty())
        return Status(StatusCode::invalid_argument, fmt::format("{} is empty: it needs a step.", name));
    for (size_t i = 0; i < table.size(); ++i) {
        const StepCostPoint& point = table[i];
        if (point.n_rows == 0)
            return Status(StatusCode::invalid_argument, fmt::format("{}[{}].n_rows is 0.", name, i));
        if (i > 0 && point.n_rows <= table[i - 1].n_rows) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("{}[{}].n_rows is {}, not above {}[{}].n_rows, which is {}.", name, i,
                                      point.n_rows, name, i - 1, table[i - 1].n_rows));
        }
        if (!is_cost(point.step_ns)) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("{}[{}].step_ns is {}, must be above 0 and at most {:.0e}.", name, i,
                                      point.step_ns, kMostNs));
        }
    }
    return {};
}

Status check_position_ns(std::string_view name, double ns) {
    if (ns >= 0 && ns <= kMostNs) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} is {}, must be 0 to {:.0e}.", name, ns, kMostNs));
}

double on_line(const StepCostPoint& a, const StepCostPoint& b, uint32_t n_rows) {
    const double share =
        (static_cast<double>(n_rows) - a.n_rows) / (static_cast<double>(b.n_rows) - a.n_rows);
    return a.step_ns + share * (b.step_ns - a.step_ns);
}

// n_rows lies within the table.
double between(const Table& table, uint32_t n_rows) {
    const auto above = std::ranges::lower_bound(table, n_rows, {}, &StepCostPoint::n_rows);
    return above->n_rows == n_rows ? above->step_ns : on_line(*std::prev(above), *above, n_rows);
}

}  // namespace

Result<StepCostModel> StepCostModel::create(MeasuredStepCosts costs) {
    TAKT_RETURN_IF_ERROR(check_table("decode", costs.decode));
    TAKT_RETURN_IF_ERROR(check_table("prefill", costs.prefill));
    TAKT_RETURN_IF_ERROR(check_position_ns("decode_position_ns", costs.decode_position_ns));
    TAKT_RETURN_IF_ERROR(check_position_ns("prefill_position_ns", costs.prefill_position_ns));
    if (costs.prefill.front().n_rows > 1)
        costs.prefill.insert(costs.prefill.begin(), {1, costs.decode.front().step_ns});
    return StepCostModel(std::move(costs));
}

double StepCostModel::decode_ns(uint32_t n_rows) const {
    const StepCostPoint &first = costs_.decode.front(), &last = costs_.decode.back();
    if (n_rows <= first.n_rows) return first.step_ns;
    if (n_rows <= last.n_rows) return between(costs_.decode, n_rows);
    return last.step_ns + std::max(0.0, prefill_ns(n_rows) - prefill_ns(last.n_rows));
}

// The table begins with one row.
double StepCostModel::prefill_ns(uint32_t n_rows) const {
    const StepCostPoint& last = costs_.prefill.back();
    if (n_rows <= last.n_rows) return between(costs_.prefill, n_rows);
    if (costs_.prefill.size() == 1) return last.step_ns * n_rows;
    const double line = on_line(costs_.prefill[costs_.prefill.size() - 2], last, n_rows);
    return std::max(line, last.step_ns);
}

double StepCostModel::step_ns(const StepLoad& step) const {
    const double positions_ns = costs_.decode_position_ns * static_cast<double>(step.decode_positions) +
                                costs_.prefill_position_ns * static_cast<double>(step.prefill_positions);
    if (step.n_output_rows == 0) return std::max(1.0, prefill_ns(step.n_rows) + positions_ns);
    const double more = std::max(0.0, prefill_ns(step.n_rows) - prefill_ns(step.n_output_rows));
    return std::max(1.0, decode_ns(step.n_output_rows) + more + positions_ns);
}

}  // namespace takt
