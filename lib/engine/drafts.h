// What one request proposes for its next step, and where the proposals come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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
    // No drafts before the text has so many tokens.
    void give_up(size_t n_tokens) {
        release();
        rests_until = n_tokens;
    }

    std::vector<int32_t> ids;  // sized when made
    DraftLength length;
    uint32_t most;
    size_t rests_until = 0;
    // One of them.
    std::unique_ptr<NgramIndex> ngrams;
    std::unique_ptr<DraftSequence> sequence;
};

}  // namespace takt
