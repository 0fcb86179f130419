// How many tokens a request should draft, from how many of its drafts were accepted and what rows cost.
#pragma once

#include <cstdint>

#include "engine/step_costs.h"

namespace takt {

inline constexpr uint32_t kMaxDrafts = 15;  // of one request in one step

// The step that is being planned, without this request's drafts.
struct DraftSituation {
    const StepCosts* steps = nullptr;   // of the model
    const StepCosts* drafts = nullptr;  // of the draft model; null where drafts cost nothing
    uint32_t n_rows = 0;
    double n_tokens = 0;     // that these rows are expected to give
    uint32_t n_longest = 0;  // drafts of a request of this step, at most
};

class DraftLength {
public:
    // 0 to most. Where drafting doesn't pay it is tried again now and then, ever more rarely.
    uint32_t choose(const DraftSituation& situation, uint32_t most);
    // Nothing could be drafted this time.
    void try_again() { n_steps_without_ = wait_; }
    // Of what was chosen n_drafted ran, and the first n_accepted of them were right.
    void record(uint32_t n_drafted, uint32_t n_accepted);
    // Of a draft whose predecessors were right.
    double acceptance() const { return accepted_ / (accepted_ + rejected_); }
    // Tokens that a step with n drafts gives.
    double expected_tokens(uint32_t n_drafts) const;

private:
    static constexpr uint32_t kFirstWait = 8;  // steps from one trial to the next
    double accepted_ = 1.4, rejected_ = 0.6;   // fading; begins as if something were known
    uint32_t n_steps_without_ = 0, wait_ = kFirstWait;
    bool trying_ = false, began_ = false;
};

}  // namespace takt
