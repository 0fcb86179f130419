// Page arithmetic of one sequence.
#include "engine/sequence_pages.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"

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
                             uint32_t page_tokens, uint64_t n_tokens, uint32_t max_rows, uint64_t cache_key)
    : pools_(pools), page_tokens_(page_tokens), cache_key_(cache_key) {
    for (const StateGroup& group : groups) {
        Table& table = tables_.emplace_back();
        table.window = group.window;
        table.worst_case = worst_case_pages(group, n_tokens, page_tokens, max_rows);
        table.pages.assign(pages_for(n_tokens, page_tokens), kNoPage);
        table.reserved.reserve(table.worst_case);
    }
    for (const Table& table : tables_) views_.push_back(table.pages);
    hashes_.reserve(n_tokens / page_tokens);
    copies_.reserve(tables_.size());  // of each group one at most: the page that a shared start ends in
}

bool SequencePages::reserve(uint32_t promised) {
    for (size_t g = 0; g < tables_.size(); ++g) {
        const uint64_t others = tables_[g].window == 0 ? promised : 0;
        if (pools_[g].n_available() < tables_[g].worst_case + others) return false;
    }
    for (size_t g = 0; g < tables_.size(); ++g) {
        for (uint32_t i = 0; i < tables_[g].worst_case; ++i) tables_[g].reserved.push_back(pools_[g].take());
    }
    reserved_ = true;
    return true;
}

uint32_t SequencePages::take(size_t group) {
    std::vector<uint32_t>& reserved = tables_[group].reserved;
    if (!reserved_) return pools_[group].take();
    if (reserved.empty()) return kNoPage;
    const uint32_t page = reserved.back();
    reserved.pop_back();
    return page;
}

void SequencePages::give_back(size_t group, uint32_t page) {
    if (reserved_) {
        tables_[group].reserved.push_back(page);
    } else {
        pools_[group].give_back(page);
    }
}

// The first entry that rows from this position on can see.
uint32_t SequencePages::first_needed(const Table& table, uint32_t first_row_position) const {
    if (table.window == 0 || first_row_position < table.window) return 0;
    return (first_row_position - table.window + 1) / page_tokens_;
}

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
        if (tables_[g].window != 0) continue;
        uint32_t run = 0;
        while (run < n && find(g, ids, run) != kNoPage) ++run;
        n = run;
    }
    const auto windows_known = [&](uint32_t n_pages) {
        for (size_t g = 0; g < tables_.size(); ++g) {
            if (tables_[g].window == 0) continue;
            for (uint32_t page = first_needed(tables_[g], n_pages * page_tokens_); page < n_pages; ++page) {
                if (find(g, ids, page) == kNoPage) return false;
            }
        }
        return true;
    };
    while (n > 0 && !windows_known(n)) --n;
    return n;
}

uint32_t SequencePages::reuse(std::span<const int32_t> ids) {
    const auto most = static_cast<uint32_t>((ids.size() - 1) / page_tokens_);
    const uint32_t n = n_known_pages(ids, most);
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        table.first_held = first_needed(table, n * page_tokens_);
        table.n_covered = n;
        for (uint32_t page = table.first_held; page < n; ++page) {
            table.pages[page] = find(g, ids, page);
            pools_[g].share(table.pages[page]);
        }
    }
    n_published_ = n;
    return n * page_tokens_;
}

bool SequencePages::share(const SequencePages& other, uint32_t n_positions) {
    const uint32_t end = pages_for(n_positions, page_tokens_);
    for (const Table& from : other.tables_) {
        if (from.n_covered < end || from.first_held > first_needed(from, n_positions)) return false;
    }
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        table.first_held = first_needed(table, n_positions);
        table.n_covered = end;
        for (uint32_t page = table.first_held; page < end; ++page) {
            table.pages[page] = other.tables_[g].pages[page];
            pools_[g].share(table.pages[page]);
        }
    }
    return true;
}

Status SequencePages::take_for(uint32_t n_positions) {
    if (!has_room(n_positions, n_positions, n_positions, 0))
        return lack_of_room(n_positions, n_positions, n_positions);
    for (size_t g = 0; g < tables_.size(); ++g) {
        tables_[g].first_held = tables_[g].n_covered = first_needed(tables_[g], n_positions);
        grow(g, n_positions);
    }
    return {};
}

Status SequencePages::lack_of_room(uint32_t n_tokens, uint32_t first_row_position, uint32_t step_end) const {
    size_t group = 0;
    uint32_t need = 0;
    for (size_t g = 0; g < tables_.size(); ++g) {
        group = g;
        need = n_lacking(g, first_row_position, tables_[g].window == 0 ? n_tokens : step_end);
        if (need > pools_[g].n_available()) break;
    }
    return Status(
        StatusCode::out_of_memory,
        fmt::format("Keys and values of {} tokens need {} pages of {} positions, {} of {} are free.",
                    n_tokens, need, page_tokens_, pools_[group].n_available(), pools_[group].n_pages()));
}

uint32_t SequencePages::n_lacking(size_t group, uint32_t first_row_position, uint32_t end_position) const {
    const Table& table = tables_[group];
    const uint32_t end = pages_for(end_position, page_tokens_),
                   first = std::max(table.n_covered, first_needed(table, first_row_position)),
                   written = first_row_position / page_tokens_;
    const bool copies = written >= table.first_held && written < table.n_covered &&
                        !pools_[group].may_write(table.pages[written]);
    return (end > first ? end - first : 0) + (copies ? 1 : 0);
}

bool SequencePages::has_room(uint32_t n_tokens, uint32_t first_row_position, uint32_t step_end,
                             uint32_t spare, uint32_t promised) const {
    for (size_t g = 0; g < tables_.size(); ++g) {
        const bool full = tables_[g].window == 0;
        const uint64_t lacking = n_lacking(g, first_row_position, full ? n_tokens : step_end);
        if (pools_[g].n_available() < lacking + spare + (full ? promised : 0)) return false;
    }
    return true;
}

bool SequencePages::grow(size_t group, uint32_t n_positions) {
    Table& table = tables_[group];
    for (; table.n_covered < pages_for(n_positions, page_tokens_); ++table.n_covered) {
        const uint32_t page = take(group);
        if (page == kNoPage) return false;
        table.pages[table.n_covered] = page;
    }
    return true;
}

uint32_t SequencePages::n_missing(uint32_t n_tokens) const {
    const uint32_t end = pages_for(n_tokens, page_tokens_);
    uint32_t n = 0;
    for (const Table& table : tables_) {
        if (table.window == 0 && end > table.n_covered) n = std::max(n, end - table.n_covered);
    }
    return n;
}

bool SequencePages::cover(uint32_t first_row_position, uint32_t n_positions) {
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        for (const uint32_t needed = std::min(first_needed(table, first_row_position), table.n_covered);
             table.first_held < needed; ++table.first_held) {
            give_back(g, table.pages[table.first_held]);
            table.pages[table.first_held] = kNoPage;
        }
        if (!make_writable(g, first_row_position, n_positions) || !grow(g, n_positions)) return false;
    }
    return true;
}

// Copy-on-write: whoever writes first takes a page of its own, the others keep theirs as it is.
bool SequencePages::make_writable(size_t group, uint32_t first_row_position, uint32_t n_positions) {
    if (reserved_) return true;
    Table& table = tables_[group];
    const uint32_t end = std::min(table.n_covered, pages_for(n_positions, page_tokens_));
    for (uint32_t i = first_row_position / page_tokens_; i < end; ++i) {
        const uint32_t page = table.pages[i];
        if (pools_[group].may_write(page)) continue;
        const uint32_t own = pools_[group].take();
        if (own == kNoPage) return false;
        copies_.push_back({static_cast<uint32_t>(group), page, own});
        pools_[group].give_back(page);
        table.pages[i] = own;
    }
    return true;
}

void SequencePages::publish(std::span<const int32_t> ids, uint32_t n_committed) {
    if (reserved_) return;
    for (; (n_published_ + 1) * page_tokens_ <= n_committed; ++n_published_) {
        for (size_t g = 0; g < tables_.size(); ++g) {
            const uint32_t page = tables_[g].pages[n_published_];
            if (page != kNoPage)
                pools_[g].publish(page, hash_of(ids, n_published_), ids_of(ids, n_published_));
        }
    }
}

uint32_t SequencePages::n_reachable() const {
    uint32_t n = ~0u;
    for (const Table& table : tables_) n = std::min(n, table.n_covered * page_tokens_);
    return n;
}

PageUse SequencePages::use(uint32_t n_tokens) const {
    PageUse use;
    for (size_t g = 0; g < tables_.size(); ++g) {
        if (tables_[g].window != 0) continue;
        for (uint32_t page = 0; page < tables_[g].n_covered; ++page) {
            const double part = 1.0 / pools_[g].n_references(tables_[g].pages[page]);
            const uint32_t begin = std::min(n_tokens, page * page_tokens_);
            use.pages += part;
            use.tokens += part * std::min(n_tokens - begin, page_tokens_);
        }
    }
    return use;
}

void SequencePages::release() {
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        // From the end, so that of a prefix its end is the first to be forgotten.
        for (size_t i = table.pages.size(); i-- > 0;) {
            if (table.pages[i] != kNoPage) pools_[g].give_back(table.pages[i]);
            table.pages[i] = kNoPage;
        }
        for (const uint32_t page : table.reserved) pools_[g].give_back(page);
        table.reserved.clear();
        table.first_held = table.n_covered = 0;
    }
    reserved_ = false;
    n_published_ = 0;
    copies_.clear();
}

}  // namespace takt
