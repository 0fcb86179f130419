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
        if (group.recurrent) {
            REQUIRE(table.size() == 1);
            REQUIRE(table[0] == 0);
            position += rows;
            continue;
        }
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
        const bool recurrent = i % 7 == 0, full = recurrent || random() % 3 == 0;
        const StateGroup group{"g", full ? 0 : 1 + static_cast<uint32_t>(random() % 100), recurrent};
        const uint32_t n_tokens = 1 + static_cast<uint32_t>(random() % 700),
                       page_tokens = 1 + static_cast<uint32_t>(random() % 33);
        walk(group, n_tokens, page_tokens, 1 + static_cast<uint32_t>(random() % 130), random);
    }
}

TEST_CASE("sequences that share pages write none that another one holds, and all come back") {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        const std::vector<StateGroup> groups = {
            {"full", 0}, {"window", 1 + static_cast<uint32_t>(random() % 12)}, {"recurrent", 0, true}};
        std::vector<PagePool> pools{PagePool(200, 4), PagePool(200, 4), PagePool(200, 4)};
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
            all[i]->stand_at(to);
            REQUIRE(pools[2].may_write(all[i]->tables()[2][0]));
            for (size_t g = 0; g < 2; ++g) {
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

namespace {

// Computes positions up to n, as a worker would, and publishes what is full.
void compute(SequencePages& pages, std::span<const int32_t> ids, uint32_t from, uint32_t to) {
    REQUIRE(pages.cover(from, to));
    pages.copied();
    pages.stand_at(to);
    pages.publish(ids, to);
}

}  // namespace

TEST_CASE("a snapshot is found by those who begin alike, and copied by who goes on") {
    const std::vector<StateGroup> groups = {{"full", 0}, {"recurrent", 0, true}};
    std::vector<PagePool> pools{PagePool(20, 4), PagePool(3, 4)};
    const std::vector<int32_t> ids(20, 7);
    SequencePages first(groups, pools, 4, 20, 8), second(groups, pools, 4, 20, 8);
    CHECK(first.rows_to_snapshot(0, 10) == 8);
    CHECK(first.rows_to_snapshot(8, 3) == 3);
    CHECK(first.rows_to_snapshot(9, 3) == 3);
    CHECK(first.rows_to_snapshot(9, 4) == 3);
    compute(first, ids, 0, 8);
    compute(first, ids, 8, 10);  // in a slot of its own
    CHECK(pools[1].n_unused_published() == 1);
    CHECK(second.reuse(ids) == 8);
    CHECK(second.tables()[1][0] != first.tables()[1][0]);
    REQUIRE(second.cover(8, 9));
    REQUIRE(second.copies().size() == 1);  // the pages are full, the slot isn't second's to write
    CHECK(second.copies()[0].group == 1);
    CHECK(second.copies()[0].to == second.tables()[1][0]);
    SequencePages third(groups, pools, 4, 20, 8);
    CHECK_FALSE(third.share(second, 9));  // second doesn't stand there
    second.copied();
    second.stand_at(9);
    CHECK(third.share(second, 9));
    CHECK_FALSE(SequencePages(groups, pools, 4, 20, 8).share(second, 8));
}

TEST_CASE("where no slot is left for a copy, a snapshot goes before anyone waits") {
    const std::vector<StateGroup> groups = {{"full", 0}, {"recurrent", 0, true}};
    std::vector<PagePool> pools{PagePool(20, 4), PagePool(1, 4)};
    const std::vector<int32_t> ids(20, 7);
    {
        SequencePages only(groups, pools, 4, 20, 8);
        compute(only, ids, 0, 8);
        CHECK(pools[1].n_published() == 1);
        CHECK(only.has_room(12, 8, 12, 1));
        compute(only, ids, 8, 11);
        CHECK(pools[1].n_published() == 0);
        SequencePages other(groups, pools, 4, 20, 8);
        CHECK(other.reuse(ids) == 0);
        CHECK_FALSE(other.has_room(4, 0, 4, 0));
        CHECK(other.lack_of_room(4, 0, 4).message() ==
              "The recurrent state of 4 tokens needs a slot, 0 of 1 are free.");
    }
    CHECK(pools[1].n_available() == 1);
}

}  // namespace takt
