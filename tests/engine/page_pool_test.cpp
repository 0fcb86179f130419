// References, names and the order in which unused pages go.
#include <catch2/catch.hpp>

#include <array>
#include <map>
#include <random>

#include "backend/step_batch.h"
#include "engine/page_pool.h"

namespace takt {
namespace {

using Ids = std::array<int32_t, 4>;

Ids ids_of(int32_t first) {
    return {first, first + 1, first + 2, first + 3};
}

}  // namespace

TEST_CASE("a page has its references, and comes back with the last of them") {
    PagePool pool(2, 4);
    const uint32_t a = pool.take(), b = pool.take();
    CHECK(a != b);
    CHECK(pool.take() == kNoPage);
    pool.share(a);
    CHECK(pool.is_shared(a));
    pool.give_back(a);
    CHECK_FALSE(pool.is_shared(a));
    CHECK(pool.n_available() == 0);
    pool.give_back(a);
    CHECK(pool.n_available() == 1);
    CHECK(pool.take() == a);
}

TEST_CASE("a published page is found until its room is wanted, the longest unused first") {
    PagePool pool(3, 4);
    std::array<uint32_t, 3> pages{};
    for (int32_t i = 0; i < 3; ++i) {
        pages[static_cast<size_t>(i)] = pool.take();
        pool.publish(pages[static_cast<size_t>(i)], 100 + static_cast<uint64_t>(i), ids_of(10 * i));
    }
    for (const uint32_t i : {1u, 0u, 2u}) pool.give_back(pages[i]);
    CHECK(pool.n_available() == 3);
    CHECK(pool.find(101, ids_of(10)) == pages[1]);
    CHECK(pool.find(101, ids_of(11)) == kNoPage);  // the same hash of other ids
    pool.share(pages[1]);                          // used again, so it is the youngest when it comes back
    pool.give_back(pages[1]);
    CHECK(pool.take() == pages[0]);
    CHECK(pool.find(100, ids_of(0)) == kNoPage);
    CHECK(pool.take() == pages[2]);
    CHECK(pool.find(101, ids_of(10)) == pages[1]);
    pool.drop_unused();
    CHECK(pool.find(101, ids_of(10)) == kNoPage);
    CHECK(pool.n_available() == 1);
    CHECK(pool.n_published() == 0);
}

TEST_CASE("of two pages with the same tokens the first keeps the name") {
    PagePool pool(2, 4);
    const uint32_t first = pool.take(), second = pool.take();
    pool.publish(first, 7, ids_of(1));
    pool.publish(second, 7, ids_of(1));
    CHECK(pool.find(7, ids_of(1)) == first);
    pool.give_back(second);
    pool.give_back(first);
    CHECK(pool.n_published() == 1);
    CHECK(pool.take() == second);  // nothing to keep it for
}

TEST_CASE("a pool is right after thousands of random calls") {
    constexpr uint32_t kPages = 23;
    PagePool pool(kPages, 4);
    std::mt19937 random(5);
    std::map<uint32_t, int> references;      // of pages in use
    std::map<uint64_t, uint32_t> published;  // what must be found: those in use at least
    for (int i = 0; i < 20000; ++i) {
        const uint32_t what = random() % 4;
        if (what == 0) {
            const uint32_t page = pool.take();
            REQUIRE((page == kNoPage) == (references.size() == kPages));
            if (page != kNoPage) {
                REQUIRE(references.emplace(page, 1).second);
                std::erase_if(published, [&](const auto& entry) { return entry.second == page; });
            }
        } else if (!references.empty()) {
            auto it = references.begin();
            std::advance(it, random() % references.size());
            if (what == 1) {
                pool.share(it->first);
                ++it->second;
            } else if (what == 2) {
                const uint64_t hash = random() % 40;
                const bool known = pool.find(hash, ids_of(static_cast<int32_t>(hash))) != kNoPage;
                const bool named =
                    std::ranges::any_of(published, [&](const auto& e) { return e.second == it->first; });
                pool.publish(it->first, hash, ids_of(static_cast<int32_t>(hash)));
                if (!known && !named) published[hash] = it->first;
            } else {
                pool.give_back(it->first);
                if (--it->second == 0) references.erase(it);
            }
        }
        REQUIRE(pool.n_used() == references.size());
        REQUIRE(pool.n_published() == published.size());
        for (const auto& [hash, page] : published)
            REQUIRE(pool.find(hash, ids_of(static_cast<int32_t>(hash))) == page);
    }
}

TEST_CASE("a page lives from when it is taken until nobody holds it or can find it") {
    PagePool pool(2, 4);
    const auto lives = [&pool] {
        const std::vector<uint64_t> all(pool.lifetimes().begin(), pool.lifetimes().end());
        pool.forget_lifetimes();
        return all;
    };
    pool.set_time(100);
    const uint32_t a = pool.take(), b = pool.take();
    pool.publish(a, 7, ids_of(1));
    pool.set_time(150);
    pool.give_back(a);  // still found
    CHECK(lives().empty());
    pool.give_back(b);
    CHECK(lives() == std::vector<uint64_t>{50});
    pool.set_time(200);
    CHECK(pool.take() == b);
    CHECK(pool.take() == a);  // its room is wanted now
    CHECK(lives() == std::vector<uint64_t>{100});
    pool.publish(a, 8, ids_of(2));
    pool.give_back(a);
    pool.set_time(260);
    pool.drop_unused();
    CHECK(lives() == std::vector<uint64_t>{60});
}

}  // namespace takt
