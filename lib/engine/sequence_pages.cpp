// Page arithmetic of one sequence.
#include "engine/sequence_pages.h"

#include <algorithm>

namespace takt {
namespace {

uint32_t pages_for(uint64_t n_tokens, uint32_t page_tokens) {
    return static_cast<uint32_t>((n_tokens + page_tokens - 1) / page_tokens);
}

}  // namespace

uint32_t worst_case_pages(const StateGroup& group, uint64_t n_tokens, uint32_t page_tokens,
                          uint32_t max_rows) {
    const uint32_t all = pages_for(n_tokens, page_tokens);
    if (group.window == 0) return all;
    // The window and the rows of one step, plus a page that begins before them.
    return std::min(all, pages_for(uint64_t{group.window} + max_rows, page_tokens) + 1);
}

SequencePages::SequencePages(std::span<const StateGroup> groups, std::vector<PagePool>& pools,
                             uint32_t page_tokens, uint64_t n_tokens, uint32_t max_rows)
    : pools_(pools), page_tokens_(page_tokens) {
    for (const StateGroup& group : groups) {
        Table& table = tables_.emplace_back();
        table.window = group.window;
        table.worst_case = worst_case_pages(group, n_tokens, page_tokens, max_rows);
        table.pages.assign(pages_for(n_tokens, page_tokens), kNoPage);
    }
    for (const Table& table : tables_) views_.push_back(table.pages);
}

bool SequencePages::reserve() {
    for (size_t g = 0; g < tables_.size(); ++g) {
        if (pools_[g].reserve(tables_[g].worst_case)) continue;
        while (g-- > 0) pools_[g].unreserve(tables_[g].worst_case);
        return false;
    }
    reserved_ = true;
    return true;
}

void SequencePages::cover(uint32_t first_row_position, uint32_t n_positions) {
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        if (table.window != 0 && first_row_position >= table.window) {
            const uint32_t oldest = first_row_position - table.window + 1;
            for (; table.first_held < oldest / page_tokens_; ++table.first_held) {
                pools_[g].give_back(table.pages[table.first_held]);
                table.pages[table.first_held] = kNoPage;
            }
        }
        for (; table.n_covered < pages_for(n_positions, page_tokens_); ++table.n_covered)
            table.pages[table.n_covered] = pools_[g].take();
    }
}

void SequencePages::release() {
    if (!reserved_) return;
    reserved_ = false;
    for (size_t g = 0; g < tables_.size(); ++g) {
        for (uint32_t& page : tables_[g].pages) {
            if (page != kNoPage) pools_[g].give_back(page);
            page = kNoPage;
        }
        pools_[g].unreserve(tables_[g].worst_case);
    }
}

}  // namespace takt
