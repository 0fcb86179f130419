// What a sequence shares with others by its tokens: pages and snapshots found by the hash of all tokens up to
// their end, and made findable.
#include "base/checksum.h"
#include "engine/sequence_pages.h"

namespace takt {

std::span<const int32_t> SequencePages::ids_of(std::span<const int32_t> ids, uint32_t page) const {
    return ids.subspan(size_t{page} * page_tokens_, page_tokens_);
}

// Of the tokens up to the page's end. Until start_over() a sequence's tokens never change, so each is
// computed once.
uint64_t SequencePages::hash_of(std::span<const int32_t> ids, uint32_t page) {
    while (hashes_.size() <= page) {
        const auto next = static_cast<uint32_t>(hashes_.size());
        const uint64_t before = next == 0 ? cache_key_ : hashes_.back();
        hashes_.push_back(checksum64(std::as_bytes(ids_of(ids, next)), before));
    }
    return hashes_[page];
}

uint32_t SequencePages::find(size_t group, std::span<const int32_t> ids, uint32_t page) {
    return pools_[group].find(hash_of(ids, page), ids_of(ids, page));
}

// Full pages at the start of the ids that every group could give.
uint32_t SequencePages::n_known_pages(std::span<const int32_t> ids, uint32_t most) {
    uint32_t n = most;
    for (size_t g = 0; g < tables_.size(); ++g) {
        if (!tables_[g].is_full()) continue;
        uint32_t run = 0;
        while (run < n && find(g, ids, run) != kNoPage) ++run;
        n = run;
    }
    while (n > 0 && !is_known_behind(ids, n)) --n;
    return n;
}

// What rows behind so many full pages need of windows and recurrent state.
bool SequencePages::is_known_behind(std::span<const int32_t> ids, uint32_t n_pages) {
    for (size_t g = 0; g < tables_.size(); ++g) {
        const Table& table = tables_[g];
        if (table.is_full()) continue;
        uint32_t page = table.recurrent ? n_pages - 1 : first_needed(table, n_pages * page_tokens_);
        for (; page < n_pages; ++page) {
            if (find(g, ids, page) == kNoPage) return false;
        }
    }
    return true;
}

uint32_t SequencePages::reuse(std::span<const int32_t> ids) {
    const auto most = static_cast<uint32_t>((ids.size() - 1) / page_tokens_);
    const uint32_t n = n_known_pages(ids, most);
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        if (table.recurrent) {
            if (n > 0) share_page(g, 0, find(g, ids, n - 1));
            continue;
        }
        table.first_held = first_needed(table, n * page_tokens_);
        table.n_covered = n;
        for (uint32_t page = table.first_held; page < n; ++page) share_page(g, page, find(g, ids, page));
    }
    n_published_ = n;
    stand_at(n * page_tokens_);
    return n * page_tokens_;
}

void SequencePages::publish(std::span<const int32_t> ids, uint32_t n_committed) {
    if (reserved_) return;
    for (; (n_published_ + 1) * page_tokens_ <= n_committed; ++n_published_) {
        for (size_t g = 0; g < tables_.size(); ++g) {
            if (tables_[g].recurrent) continue;
            const uint32_t page = tables_[g].pages[n_published_];
            if (page != kNoPage)
                pools_[g].publish(page, hash_of(ids, n_published_), ids_of(ids, n_published_));
        }
    }
    if (recurrent_) publish_slots(ids, n_committed);
}

uint32_t SequencePages::rows_to_snapshot(uint32_t first_row_position, uint32_t n_rows) const {
    const uint32_t boundary = (first_row_position + n_rows) / page_tokens_ * page_tokens_;
    return recurrent_ && boundary > first_row_position ? boundary - first_row_position : n_rows;
}

void SequencePages::publish_slots(std::span<const int32_t> ids, uint32_t n_committed) {
    if (n_committed == 0 || n_committed % page_tokens_ != 0 || position_ != n_committed) return;
    const uint32_t last_page = n_committed / page_tokens_ - 1;
    for (size_t g = 0; g < tables_.size(); ++g) {
        if (tables_[g].recurrent)
            pools_[g].publish(tables_[g].pages[0], hash_of(ids, last_page), ids_of(ids, last_page));
    }
}

}  // namespace takt
