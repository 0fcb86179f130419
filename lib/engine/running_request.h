// A request as the worker holds it: what is computed, what it has sampled, and its pages.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/drafts.h"
#include "engine/gap_state.h"
#include "engine/request_state.h"
#include "engine/sequence_pages.h"
#include "engine/text_stream.h"
#include "sampler/sampler_chain.h"

namespace takt {

struct RunningRequest {
    // max_total: prompt and generated tokens together, at most; of one that slides in the context at once.
    RunningRequest(std::shared_ptr<RequestState> request_state, uint64_t name, uint32_t max_tokens_in_all,
                   uint32_t vocab_size, std::shared_ptr<const TokenTexts> texts,
                   std::unique_ptr<SequencePages> own_pages, std::unique_ptr<Drafts> own_drafts)
        : state(std::move(request_state)),
          sequence(name),
          pages(std::move(own_pages)),
          sampler(state->options().sampler, vocab_size),
          text(std::move(texts), state->options().stop_strings),
          n_prompt(static_cast<uint32_t>(state->options().prompt_ids.size())),
          max_total(max_tokens_in_all),
          greedy(state->options().sampler.is_plain_greedy()),
          slides(state->options().context_policy == ContextPolicy::slide && state->options().max_tokens > 0),
          drafts(std::move(own_drafts)) {
        tokens.reserve(max_total + kMaxDrafts);
        tokens.assign(state->options().prompt_ids.begin(), state->options().prompt_ids.end());
        const size_t n_most = drafts ? kMaxDrafts + 1 : 1;
        outcome.tokens.reserve(n_most);
        outcome.text.reserve(n_most * 64);
        if (state->options().keep_state) kept_place.emplace_back();
    }

    // Its next rows are not the last token's alone: prompt, or after a preemption or a slide all tokens
    // again.
    bool in_prefill() const {
        return (n_dropped == 0 && n_computed < n_prompt) || n_computed + 1 < tokens.size();
    }
    // Of a row whose token is to be chosen.
    OutputWanted wanted() const { return greedy ? OutputWanted::argmax : OutputWanted::logits; }
    uint32_t n_to_compute() const { return static_cast<uint32_t>(tokens.size()) - n_computed; }
    // Who is served before whom, and gives way after whom.
    bool goes_before(const RunningRequest& other) const {
        const int32_t own = state->options().priority, others = other.state->options().priority;
        return own != others ? own > others : sequence < other.sequence;
    }
    // Drafts that a step may verify: the last token is sampled, but never computed.
    uint32_t n_may_draft() const {
        return max_total - std::min(max_total, static_cast<uint32_t>(tokens.size()) + 1);
    }
    // Its reader stopped amid the tokens of a step: the last n_tokens were never said.
    void forget_untold(uint32_t n_tokens) {
        tokens.resize(tokens.size() - n_tokens);
        n_computed = std::min(n_computed, static_cast<uint32_t>(tokens.size()));
        text_is_ahead = true;
    }
    const Slo& slo() const { return state->slo(); }
    const Timeline& timeline() const { return state->own_timeline(); }
    // Of all that ever were, prompt included.
    uint64_t n_tokens() const { return tokens.size() + n_dropped; }
    uint32_t n_generated() const { return static_cast<uint32_t>(n_tokens() - n_prompt); }

    // Keeps the pinned start and the newest half of the rest; nothing of it is computed. Returns what went.
    uint32_t slide() {
        const size_t n_pinned = std::min<size_t>(state->options().pinned_tokens, tokens.size());
        const size_t n_rest = tokens.size() - n_pinned, n_gone = n_rest - n_rest / 2;
        const auto first = tokens.begin() + static_cast<ptrdiff_t>(n_pinned);
        tokens.erase(first, first + static_cast<ptrdiff_t>(n_gone));
        n_dropped += n_gone;
        n_computed = 0;
        if (drafts) drafts->start_over();
        return static_cast<uint32_t>(n_gone);
    }

    // What a step brought; told only after all requests of the step have their tokens and their stamp.
    struct Outcome {
        std::vector<ChosenToken> tokens;  // one, or more where drafts were accepted; sized when made
        std::string text;                 // of all of them
        StepStamp stamp;
        GapParts gap;  // before the tokens
        FinishReason reason = FinishReason::none;
        Status status;
        uint64_t end_ns = 0;

        void clear() {
            tokens.clear();
            text.clear();
            stamp = {};
            gap = {};
            reason = FinishReason::none;
            status = {};
            end_ns = 0;
        }
    };

    std::shared_ptr<RequestState> state;
    uint64_t sequence;
    std::unique_ptr<SequencePages> pages;
    SamplerChain sampler;
    TextStream text;
    std::vector<int32_t> tokens;  // prompt and generated, as far as they are in the context; sized when made
    uint64_t n_dropped = 0;       // tokens that slid out of it
    uint32_t n_prompt;
    uint32_t n_computed = 0;  // positions whose keys and values are committed
    uint32_t max_total;
    GapState gap;
    uint32_t told_broken = 0;  // bounds of its SLO, as bits
    bool greedy;               // the backend's argmax serves
    bool slides;               // a full context is no end
    bool finished = false;     // its end was told
    bool kept = false;         // and its pages stay
    bool came_imported = false;
    bool imported = false;                 // its pages hold n_computed positions before it is admitted
    bool text_is_ahead = false;            // of what was told: its reader stopped amid the tokens of a step
    bool preempted = false;                // gave its pages away and waits
    bool scheduled = false;                // a step held a row of it
    std::optional<uint64_t> preempted_ns;  // when, until a step holds a row of it again
    uint64_t prefill_compute_ns = 0;
    std::shared_ptr<const RequestState> source;             // of a fork that wasn't admitted yet
    std::list<std::unique_ptr<RunningRequest>> kept_place;  // made early: an end allocates nothing
    uint32_t first_row = 0, n_rows = 0;  // in the step that is being built or was run; 0 rows: not in it
    bool rows_were_prefill = false;
    uint32_t n_drafts = 0;           // of the rows: those behind the last token, its first drafts
    std::unique_ptr<Drafts> drafts;  // null: it doesn't speculate
    Outcome outcome;
};

}  // namespace takt
