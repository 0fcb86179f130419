// Tokens for time: of all numbers of drafts the one whose step gives the most tokens for what it costs.
#include "engine/draft_length.h"

#include <algorithm>

namespace takt {
namespace {

constexpr double kFading = 0.93;  // of what was seen, from one step with drafts to the next
// While nothing was seen of this request, and where it didn't pay before. A draft model's cost a good part of
// a step each, those of the text nothing but their rows.
constexpr uint32_t kFirstDrafts = 4, kFirstModelDrafts = 2, kTrialDrafts = 2, kModelTrialDrafts = 1;
// Of the wait between two trials. A trial of a draft model costs reading what was said since as well:
// threefold waits keep that near a percent of 256 tokens, twofold ones took three.
constexpr uint32_t kWaitGrowth = 3, kLongestWait = 512;
constexpr double kWorthIt = 1.02;  // what drafting must promise over a plain step

double cost(const DraftSituation& situation, uint32_t n_drafts) {
    double ns = situation.steps->ns(situation.n_rows + n_drafts);
    if (situation.drafts != nullptr) ns += std::max(situation.n_longest, n_drafts) * situation.drafts->ns(1);
    return ns;
}

}  // namespace

double DraftLength::expected_tokens(uint32_t n_drafts) const {
    double tokens = 1, all_right = 1;
    for (uint32_t i = 0; i < n_drafts; ++i) tokens += all_right *= acceptance();
    return tokens;
}

uint32_t DraftLength::choose(const DraftSituation& situation, uint32_t most) {
    trying_ = false;
    most = std::min(most, kMaxDrafts);
    if (most == 0) return 0;
    const bool costs = situation.drafts != nullptr;
    const double others = situation.n_tokens - 1, plain = cost(situation, 0);
    if (!began_ || plain == 0) return std::min(most, costs ? kFirstModelDrafts : kFirstDrafts);
    uint32_t best = 0;
    double best_rate = kWorthIt * situation.n_tokens / plain;
    for (uint32_t n = 1; n <= most; ++n) {
        const double rate = (others + expected_tokens(n)) / cost(situation, n);
        if (rate <= best_rate) continue;
        best = n;
        best_rate = rate;
    }
    if (best == 0 && ++n_steps_without_ >= wait_) {
        trying_ = true;
        best = std::min(most, costs ? kModelTrialDrafts : kTrialDrafts);
    }
    if (best > 0) n_steps_without_ = 0;
    return best;
}

void DraftLength::record(uint32_t n_drafted, uint32_t n_accepted) {
    began_ = true;
    accepted_ = kFading * accepted_ + n_accepted;
    rejected_ = kFading * rejected_ + (n_accepted < n_drafted ? 1 : 0);
    if (trying_) wait_ = n_accepted == 0 ? std::min(kWaitGrowth * wait_, kLongestWait) : kFirstWait;
}

}  // namespace takt
