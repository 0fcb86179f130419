// What one request proposes for its next step, and where the proposals come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/draft_length.h"
#include "engine/ngram_index.h"
#include "engine/sequence_pages.h"

namespace takt {

// A request's text as the draft model has read it.
struct DraftSequence {
    uint64_t name = 0;
    std::unique_ptr<SequencePages> pages;
    uint32_t n_computed = 0;

    void release() {
        pages->release();
        n_computed = 0;
    }
};

struct Drafts {
    explicit Drafts(uint32_t most_drafts) : most(most_drafts) { ids.reserve(kMaxDrafts); }

    // Of the texts that a draft model reads the first n tokens are still right.
    void keep_first(uint32_t n_tokens) {
        if (sequence) sequence->n_computed = std::min(sequence->n_computed, n_tokens);
    }
    void release() {
        ids.clear();
        if (sequence) sequence->release();
    }
    // The text is another one now.
    void start_over() {
        release();
        rests_until = 0;
        if (ngrams) ngrams->clear();
        if (sequence) sequence->pages->start_over();
    }
    // The draft model failed, or had no room: no drafts for a while. n_tokens: of the text.
    void rest(size_t n_tokens) {
        constexpr size_t kRest = 256;  // tokens
        release();
        rests_until = n_tokens + kRest;
    }

    // For the classic rule: what each draft was drawn from, and room for what the model says.
    void make_room_for_probabilities(uint32_t vocab_size) {
        probabilities.resize(size_t{kMaxDrafts + 1} * vocab_size);
    }
    bool by_rejection() const { return !probabilities.empty(); }
    std::span<float> row(size_t i) {
        const size_t vocab_size = probabilities.size() / (kMaxDrafts + 1);
        return std::span<float>(probabilities).subspan(i * vocab_size, vocab_size);
    }

    std::vector<int32_t> ids;          // sized when made
    std::vector<float> probabilities;  // [kMaxDrafts + 1][vocab_size], or empty
    DraftLength length;
    uint32_t most;
    size_t rests_until = 0;
    // One of them.
    std::unique_ptr<NgramIndex> ngrams;
    std::unique_ptr<DraftSequence> sequence;
};

}  // namespace takt
