// Page arithmetic of one sequence.
#include "engine/sequence_pages.h"

#include <algorithm>

namespace takt {

namespace {

uint32_t pages_for(uint64_t n_tokens, uint32_t page_tokens) {
    return static_cast<uint32_t>((n_tokens + page_tokens - 1) / page_tokens);
}

}  // namespace

uint32_t worst_case_pages(const StateGroup& group, uint64_t n_tokens, uint32_t page_tokens, uint32_t max_rows) {
    const uint32_t all = pages_for(n_tokens, page_tokens);
    if (group.window == 0) return all;
    // The window and the rows of one step, plus a page that begins before them.
    return std::min(all, pages_for(uint64_t{group.window} + max_rows, page_tokens) + 1);
}

bool SequencePages::reserve(uint64_t n_tokens, uint32_t max_rows) {
    release();
    for (size_t g = 0; g < groups_.size(); ++g) {
        const uint32_t need = worst_case_pages(groups_[g], n_tokens, page_tokens_, max_rows);
        if (!(*pools_)[g].reserve(need)) {
            release();
            return false;
        }
        reserved_.push_back(need);
    }
    const uint32_t table_length = pages_for(n_tokens, page_tokens_);
    tables_.assign(groups_.size(), std::vector<uint32_t>(table_length, kNoPage));
    first_held_.assign(groups_.size(), 0);
    n_covered_.assign(groups_.size(), 0);
    views_.assign(tables_.begin(), tables_.end());
    return true;
}

void SequencePages::cover(uint32_t first_row_position, uint32_t n_positions) {
    for (size_t g = 0; g < groups_.size(); ++g) {
        std::vector<uint32_t>& table = tables_[g];
        if (const uint32_t window = groups_[g].window; window != 0) {
            const uint32_t oldest = first_row_position + 1 > window ? first_row_position + 1 - window : 0;
            for (; first_held_[g] < oldest / page_tokens_; ++first_held_[g]) {
                uint32_t& page = table[first_held_[g]];
                if (page != kNoPage) (*pools_)[g].give_back(page);
                page = kNoPage;
            }
        }
        for (; n_covered_[g] < pages_for(n_positions, page_tokens_); ++n_covered_[g]) table[n_covered_[g]] = (*pools_)[g].take();
    }
}

void SequencePages::release() {
    for (size_t g = 0; g < reserved_.size(); ++g) {
        if (g < tables_.size()) {
            for (const uint32_t page : tables_[g]) {
                if (page != kNoPage) (*pools_)[g].give_back(page);
            }
        }
        (*pools_)[g].unreserve(reserved_[g]);
    }
    reserved_.clear();
    tables_.clear();
    views_.clear();
}

}  // namespace takt
