// Page arithmetic: a reservation always suffices, nothing visible is freed, everything comes back.
#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "engine/sequence_pages.h"

namespace takt {
namespace {

// Walks a sequence through its positions in steps of random size and checks each table entry that a row may
// look at.
void walk(const StateGroup& group, uint32_t n_tokens, uint32_t page_tokens, uint32_t max_rows,
          std::mt19937& random) {
    const uint32_t worst_case = worst_case_pages(group, n_tokens, page_tokens, max_rows);
    std::vector<PagePool> pools{PagePool(worst_case, page_tokens)};  // not one page more
    SequencePages pages(std::span(&group, 1), pools, page_tokens, n_tokens, max_rows);
    REQUIRE(pages.reserve());
    uint32_t position = 0;
    while (position < n_tokens) {
        const uint32_t rows = std::min(n_tokens - position, 1 + static_cast<uint32_t>(random() % max_rows));
        REQUIRE(pages.cover(position, position + rows));
        const BlockTable table = pages.tables()[0];
        const uint32_t oldest =
            group.window != 0 && position >= group.window ? position - group.window + 1 : 0;
        std::set<uint32_t> seen;
        for (uint32_t i = oldest / page_tokens; i <= (position + rows - 1) / page_tokens; ++i) {
            REQUIRE(table[i] < worst_case);
            REQUIRE(seen.insert(table[i]).second);
        }
        position += rows;
    }
    pages.release();
    CHECK(pools[0].n_used() == 0);
    std::set<uint32_t> all;
    for (uint32_t i = 0; i < worst_case; ++i) all.insert(pools[0].take());
    CHECK(all.size() == worst_case);
    CHECK(pools[0].take() == kNoPage);
}

}  // namespace

TEST_CASE("the pages reserved for a sequence are enough at every step, and all come back") {
    std::mt19937 random(11);
    for (int i = 0; i < 400; ++i) {
        const StateGroup group{"g", random() % 3 == 0 ? 0 : 1 + static_cast<uint32_t>(random() % 100)};
        const uint32_t n_tokens = 1 + static_cast<uint32_t>(random() % 700),
                       page_tokens = 1 + static_cast<uint32_t>(random() % 33);
        walk(group, n_tokens, page_tokens, 1 + static_cast<uint32_t>(random() % 130), random);
    }
}

TEST_CASE("sequences that share pages write none that another one holds, and all come back") {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        const std::vector<StateGroup> groups = {{"full", 0},
                                                {"window", 1 + static_cast<uint32_t>(random() % 12)}};
        std::vector<PagePool> pools{PagePool(200, 4), PagePool(200, 4)};
        const std::vector<int32_t> ids(100, 7);
        std::vector<std::unique_ptr<SequencePages>> all;
        std::vector<uint32_t> lengths;
        for (int step = 0; step < 60; ++step) {
            const size_t i = random() % (all.size() + 1);
            if (i == all.size()) {
                all.push_back(std::make_unique<SequencePages>(groups, pools, 4, 100, 8));
                const size_t of = random() % all.size();
                const uint32_t n =
                    of + 1 == all.size()
                        ? 0
                        : lengths[of] - lengths[of] % (1 + static_cast<uint32_t>(random() % 3));
                lengths.push_back(n > 0 && all.back()->share(*all[of], n) ? n : 0);
                continue;
            }
            const uint32_t from = lengths[i],
                           to = std::min(100u, from + 1 + static_cast<uint32_t>(random() % 8));
            if (from == to) continue;
            REQUIRE(all[i]->cover(from, to));
            all[i]->copied();
            for (size_t g = 0; g < groups.size(); ++g) {
                for (uint32_t page = from / 4; page <= (to - 1) / 4; ++page)
                    REQUIRE(pools[g].may_write(all[i]->tables()[g][page]));
            }
            lengths[i] = to;
            if (random() % 2 == 0) all[i]->publish(ids, to);
            if (random() % 9 == 0) {
                all[i]->release();
                lengths[i] = 0;
            }
        }
        all.clear();
        for (const PagePool& pool : pools) CHECK(pool.n_used() == 0);
    }
}

TEST_CASE("a sequence gets pages of all groups or of none") {
    const std::vector<StateGroup> groups = {{"full", 0}, {"window", 16}};
    std::vector<PagePool> pools{PagePool(8, 4), PagePool(2, 4)};
    SequencePages first(groups, pools, 4, 16, 4), second(groups, pools, 4, 4, 4);
    CHECK_FALSE(first.reserve());        // the window group lacks pages
    CHECK(pools[0].n_available() == 8);  // and the full one kept all
    CHECK(second.reserve());
    CHECK(pools[0].n_available() == 7);
}

}  // namespace takt
