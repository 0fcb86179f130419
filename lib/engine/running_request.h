// A request as the worker holds it: what is computed, what it has sampled, and its pages.
#pragma once

#include <memory>
#include <vector>

#include "engine/request_state.h"
#include "engine/sequence_pages.h"
#include "engine/text_stream.h"
#include "sampler/sampler_chain.h"

namespace takt {

struct RunningRequest {
    RunningRequest(std::shared_ptr<RequestState> request_state, uint64_t name, uint32_t context_tokens, uint32_t vocab_size,
                   std::shared_ptr<const Tokenizer> tokenizer, std::unique_ptr<SequencePages> own_pages)
        : state(std::move(request_state)),
          sequence(name),
          pages(std::move(own_pages)),
          sampler(state->options().sampler, vocab_size),
          text(std::move(tokenizer), state->options().stop_strings),
          tokens(state->options().prompt_ids),
          n_prompt(static_cast<uint32_t>(tokens.size())),
          greedy(state->options().sampler.is_plain_greedy()) {
        // The last token that is generated is never computed, so the context holds one more than its positions.
        max_total = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{n_prompt} + state->options().max_tokens, context_tokens));
        tokens.reserve(max_total);
    }

    bool in_prefill() const { return n_computed < n_prompt; }
    uint32_t n_generated() const { return static_cast<uint32_t>(tokens.size()) - n_prompt; }

    std::shared_ptr<RequestState> state;
    uint64_t sequence;
    std::unique_ptr<SequencePages> pages;
    SamplerChain sampler;
    TextStream text;
    std::vector<int32_t> tokens;       // prompt and generated
    uint32_t n_prompt;
    uint32_t n_computed = 0;           // positions whose keys and values are committed
    uint32_t max_total = 0;            // tokens.size() at which it must end
    bool greedy;                       // the backend's argmax serves
    uint64_t prefill_compute_ns = 0;
    uint32_t first_row = 0, n_rows = 0;   // in the step that is being built or was run
};

}  // namespace takt
