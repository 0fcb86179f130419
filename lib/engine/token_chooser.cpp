// Greedy requests take the backend's argmax, all others their sampler chain.
#include "engine/token_chooser.h"

#include <algorithm>

#include <fmt/format.h>

#include "sampler/rejection.h"

namespace takt {

Result<int32_t> TokenChooser::pick(const RunningRequest& request, const StepOutput& output, size_t output_row,
                                   uint32_t draft) {
    if (request.greedy) {
        const int32_t id = output.argmax[output_row];
        if (id >= 0) return id;
        return Status(StatusCode::logits_not_finite,
                      fmt::format("The logits are not finite at generated token {}.", request.n_generated()));
    }
    const std::span<const float> logits = output.logits.subspan(output_row * vocab_size_, vocab_size_);
    const bool decides = draft < request.n_drafts && request.drafts->by_rejection();
    Result<int32_t> id = decides
                             ? decide_draft(request, logits, draft)
                             : request.sampler.sample(logits, request.tokens, request.n_tokens(), scratch_);
    if (id.ok()) return id;
    const std::string_view what =
        id.status().code() == StatusCode::logits_not_finite ? "The logits are not finite" : "Sampling failed";
    return Status(id.status().code(), fmt::format("{} at generated token {}: {}", what, request.n_generated(),
                                                  id.status().message()));
}

// By the classic rule; what n-grams guess is taken for sure.
Result<int32_t> TokenChooser::decide_draft(const RunningRequest& request, std::span<const float> logits,
                                           uint32_t draft) {
    Drafts& drafts = *request.drafts;
    const std::span<float> model = drafts.row(kMaxDrafts);
    TAKT_RETURN_IF_ERROR(request.sampler.probabilities(logits, request.tokens, scratch_, model));
    const std::span<const float> drawn_from = drafts.sequence ? drafts.row(draft) : std::span<const float>();
    return keep_or_redraw(drafts.ids[draft], model, drawn_from, request.sampler.options().seed,
                          request.n_tokens());
}

bool TokenChooser::ends_generation(const RequestOptions& options, int32_t id) const {
    if (std::find(options.stop_ids.begin(), options.stop_ids.end(), id) != options.stop_ids.end())
        return true;
    return !options.ignore_eos && tokenizer_->is_end_of_generation(id);
}

FinishReason TokenChooser::reason_to_end(const RunningRequest& request, bool ends) const {
    if (ends || request.text.stopped()) return FinishReason::stop;
    if (request.n_generated() >= request.state->options().max_tokens) return FinishReason::length;
    if (request.tokens.size() >= request.max_total && !request.slides) return FinishReason::context_full;
    return FinishReason::none;
}

// False where the request ends with it.
bool TokenChooser::choose_one(RunningRequest& request, const StepOutput& output, size_t output_row,
                              uint32_t draft) {
    RunningRequest::Outcome& outcome = request.outcome;
    const Result<int32_t> id = pick(request, output, output_row, draft);
    if (!id.ok()) {
        outcome.reason = FinishReason::error;
        outcome.status = id.status();
        return false;
    }
    const bool ends = ends_generation(request.state->options(), *id);
    request.tokens.push_back(*id);
    ChosenToken& token = outcome.tokens.emplace_back();
    token.id = *id;
    token.text_begin = static_cast<uint32_t>(outcome.text.size());
    if (!ends) outcome.text += request.text.append(*id);  // the token that ends it has no text
    token.text_bytes = static_cast<uint32_t>(outcome.text.size()) - token.text_begin;
    outcome.reason = reason_to_end(request, ends);
    return outcome.reason == FinishReason::none;
}

uint32_t TokenChooser::choose(RunningRequest& request, const StepOutput& output, size_t output_row,
                              uint64_t computed_ns) {
    RunningRequest::Outcome& outcome = request.outcome;
    const bool is_first = request.n_generated() == 0;
    for (uint32_t i = 0; choose_one(request, output, output_row + i, i); ++i) {
        if (i == request.n_drafts || outcome.tokens.back().id != request.drafts->ids[i]) break;
    }
    outcome.end_ns = clock_.now_ns();
    outcome.stamp.computed_ns = computed_ns;
    outcome.stamp.sampled_ns = outcome.end_ns;
    outcome.stamp.compute_ns = is_first ? request.prefill_compute_ns : output.compute_ns;
    return static_cast<uint32_t>(outcome.tokens.size());
}

}  // namespace takt
