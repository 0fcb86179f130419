// Requests are asked in the order in which they are served, each with what those before it have planned.
#include "engine/speculation.h"

#include <algorithm>

#include <fmt/format.h>

namespace takt {
namespace {

static_assert(kMaxDrafts <= kMaxUndoneRows,
              "where all drafts are wrong, recurrent state goes back over them");

}  // namespace

Speculation::Speculation(Runtime& runtime, std::unique_ptr<DraftModel> draft, const Limits& limits)
    : runtime_(runtime), draft_(std::move(draft)), limits_(limits) {
    jobs_.reserve(limits.max_sequences);
}

uint32_t Speculation::choose_length(RunningRequest& request, uint32_t most, bool by_model) {
    situation_.drafts = by_model ? &draft_->costs() : nullptr;
    const uint32_t n = request.drafts->length.choose(
        situation_, std::min({most, room_, request.drafts->most, request.n_may_draft()}));
    situation_.n_rows += n;
    situation_.n_tokens += request.drafts->length.expected_tokens(n) - 1;
    if (by_model) situation_.n_longest = std::max(situation_.n_longest, n);
    room_ -= n;
    return n;
}

uint64_t Speculation::propose(std::span<const std::unique_ptr<RunningRequest>> running, uint32_t max_read,
                              SamplerScratch& scratch) {
    const auto decodes = [](const RunningRequest& r) {
        return !r.preempted && !r.finished && !r.in_prefill();
    };
    const auto n_decoding = static_cast<uint32_t>(std::ranges::count_if(
        running, [&](const std::unique_ptr<RunningRequest>& r) { return decodes(*r); }));
    situation_ = {};
    situation_.steps = &costs_;
    situation_.n_rows = n_decoding;
    situation_.n_tokens = n_decoding;
    const uint32_t n_running = static_cast<uint32_t>(running.size());
    room_ = std::min({limits_.max_rows - std::min(limits_.max_rows, n_running),
                      limits_.max_output_rows - std::min(limits_.max_output_rows, n_running),
                      limits_.chunk_tokens - 1});
    jobs_.clear();
    for (const std::unique_ptr<RunningRequest>& request : running) {
        if (!request->drafts) continue;
        Drafts& drafts = *request->drafts;
        drafts.ids.clear();
        if (drafts.sequence && request->tokens.size() < drafts.rests_until) continue;
        if (drafts.sequence) {
            const uint32_t n = decodes(*request) ? choose_length(*request, kMaxDrafts, true) : 0;
            // It reads prompts while the model does, and later what was said when it is asked again.
            const bool reads_along = request->in_prefill() && request->scheduled;
            if (n > 0 || reads_along) jobs_.push_back({request.get(), n});
        } else if (decodes(*request)) {
            drafts.ids.resize(kMaxDrafts);
            const uint32_t n_found = drafts.ngrams->propose(request->tokens, drafts.ids);
            drafts.ids.resize(n_found == 0 ? 0 : choose_length(*request, n_found, false));
        }
    }
    return jobs_.empty() ? 0 : ask_draft_model(max_read, scratch);
}

// Guesses are an aid: where the draft model fails, requests go on without.
uint64_t Speculation::ask_draft_model(uint32_t max_read, SamplerScratch& scratch) {
    const Status status = draft_->propose(jobs_, max_read, scratch);
    if (!status.ok()) {
        runtime_.logger().log(
            LogLevel::warning,
            fmt::format("The draft model failed: {} Requests go on without.", status.message()));
        for (const DraftModel::Job& job : jobs_) job.request->drafts->rest(job.request->tokens.size());
    }
    for (const DraftModel::Job& job : jobs_) {
        const uint64_t part_ns = draft_->last_ns() / jobs_.size();
        job.request->state->count_draft_time(part_ns);
        job.request->gap.own_draft_ns += part_ns;
        Drafts& drafts = *job.request->drafts;
        if (drafts.ids.empty() && drafts.sequence->n_computed > 0) drafts.length.try_again();
    }
    return draft_->last_ns();
}

uint32_t Speculation::record(RunningRequest& request, uint32_t n_chosen) {
    uint32_t n_accepted = 0;
    if (request.n_drafts > 0) {
        const std::vector<int32_t>& ids = request.drafts->ids;
        // The last one chosen is a draft that was right, too, where the request ends with it.
        n_accepted = n_chosen == 0 ? 0 : n_chosen - 1;
        if (n_chosen > 0 && n_accepted < request.n_drafts && ids[n_accepted] == request.tokens.back())
            ++n_accepted;
        request.drafts->length.record(request.n_drafts, n_accepted);
        request.state->count_drafts(request.n_drafts, n_accepted);
    }
    if (request.drafts) request.drafts->keep_first(static_cast<uint32_t>(request.tokens.size()) - 1);
    return n_accepted;
}

}  // namespace takt
