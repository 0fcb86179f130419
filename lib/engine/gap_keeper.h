// Splits every step gap of every request by its causes, from what the worker says as it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/gap_state.h"
#include "engine/running_request.h"
#include "engine/step_costs.h"

namespace takt {

// On the worker's thread.
class GapKeeper {
public:
    using Running = std::unique_ptr<RunningRequest>;

    void in_callbacks(uint64_t ns) { meanwhile_.callback_ns += ns; }
    void in_other_engines(uint64_t ns) { meanwhile_.other_engines_ns += ns; }
    void in_drafts(uint64_t ns) { meanwhile_.draft_ns += ns; }
    void in_evaluation(uint64_t ns, uint64_t evaluation) {
        meanwhile_.evaluation_ns += ns;
        last_evaluation_ = evaluation;
    }
    // A step of the running requests' rows, before these count as computed. costs: of steps without prompts.
    void in_step(std::span<const Running> running, uint64_t ns, uint32_t decode_rows, uint32_t prefill_rows,
                 const StepCosts& costs) const;
    void preempted(RunningRequest& request) const { request.gap.at_preemption = meanwhile_; }
    void resumed(RunningRequest& request, uint64_t waited_ns) const;
    // Tokens of a step were sampled: what the gap before them was spent on; zeros for the first ones.
    GapParts close(RunningRequest& request, uint64_t sampled_ns) const;

private:
    Meanwhile meanwhile_;
    uint64_t last_evaluation_ = 0;
};

}  // namespace takt
