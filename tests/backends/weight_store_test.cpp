// Made once, shared while held, gone with the last holder.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "backend/weight_store.h"

using namespace takt;

namespace {

struct Packed final : PackedWeights {
    uint64_t size_bytes() const override { return 1; }
};

using Made = Result<std::shared_ptr<const PackedWeights>>;

}  // namespace

TEST_CASE("Weights are made by the first to ask and shared while someone holds them") {
    WeightStore store;
    std::atomic<int> n_made = 0;
    const auto make = [&]() -> Made {
        ++n_made;
        return std::shared_ptr<const PackedWeights>(std::make_shared<Packed>());
    };
    {
        std::vector<std::shared_ptr<const PackedWeights>> held(8);
        std::vector<std::jthread> askers;
        for (auto& slot : held)
            askers.emplace_back([&] { slot = *store.get_or_make({"cpu", 1, "panels"}, make); });
        askers.clear();
        CHECK(n_made == 1);
        for (const auto& weights : held) CHECK(weights == held[0]);
        CHECK(*store.get_or_make({"cpu", 2, "panels"}, make) != held[0]);
        CHECK(*store.get_or_make({"cpu", 1, "rows"}, make) != held[0]);
        CHECK(*store.get_or_make({"reference", 1, "panels"}, make) != held[0]);
        CHECK(n_made == 4);
    }
    REQUIRE(store.get_or_make({"cpu", 1, "panels"}, make).ok());
    CHECK(n_made == 5);
}

TEST_CASE("A failed make leaves nothing behind") {
    WeightStore store;
    const Made failed = store.get_or_make(
        {"cpu", 1, ""}, []() -> Made { return Status(StatusCode::file_truncated, "short"); });
    CHECK(failed.status().code() == StatusCode::file_truncated);
    const auto make = []() -> Made {
        return std::shared_ptr<const PackedWeights>(std::make_shared<Packed>());
    };
    CHECK(store.get_or_make({"cpu", 1, ""}, make).ok());
}
