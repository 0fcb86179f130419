// What the header promises of equal bits: across threads, chunks and instruction sets.
#include <cstring>

#include "golden_engine.h"

namespace takt {
namespace {

using namespace takt::test;

std::vector<std::vector<float>> logits_with(const std::shared_ptr<const Model>& model, const std::string& isa,
                                            uint32_t n_threads, uint32_t chunk_tokens,
                                            const std::vector<int32_t>& ids) {
    RuntimeOptions runtime_options;
    runtime_options.n_threads = n_threads;
    runtime_options.isa_cap = isa;
    auto runtime = Runtime::create(runtime_options);
    REQUIRE(runtime.ok());
    EngineOptions options;
    options.backend = "cpu";
    options.context_tokens = 256;
    auto engine = Engine::create(*runtime, model, options);
    INFO(engine.status().message());
    REQUIRE(engine.ok());
    return logits_of(**engine, ids, 0, chunk_tokens);
}

std::vector<std::string> isa_levels() {
    auto runtime = Runtime::create({});
    REQUIRE(runtime.ok());
    const auto backend = (*runtime)->find_backend("cpu");
    REQUIRE(backend.ok());
    return (*backend)->device_info().isa_levels;
}

size_t n_rows_that_differ(const std::vector<std::vector<float>>& a,
                          const std::vector<std::vector<float>>& b) {
    REQUIRE(a.size() == b.size());
    size_t n = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        REQUIRE(a[i].size() == b[i].size());
        n += std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0;
    }
    return n;
}

}  // namespace

TEST_CASE(
    "quantized models have the same logits, bit for bit, on every instruction set, thread count and chunk") {
    const auto model =
        load_real_model(GENERATE(from_range(std::begin(kRealModels), std::begin(kRealModels) + 3)));
    if (!model) return;
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < (kSanitized ? 20 : 70); ++i) ids.push_back(1 + i * 389 % 20'000);
    const std::vector<std::string> levels = isa_levels();
    REQUIRE(levels.back() == "scalar");
    const auto best = logits_with(model, levels.front(), 2, 0, ids);
    for (const std::string& level : levels) {
        if (kSanitized && level == "scalar") continue;
        INFO(level);
        CHECK(n_rows_that_differ(best, logits_with(model, level, 2, 0, ids)) == 0);
    }
    for (const uint32_t n_threads : {1u, 3u, 5u}) {
        INFO(n_threads);
        CHECK(n_rows_that_differ(best, logits_with(model, levels.front(), n_threads, 0, ids)) == 0);
    }
    for (const uint32_t chunk : {1u, 7u, 33u})
        CHECK(n_rows_that_differ(best, logits_with(model, levels.front(), 2, chunk, ids)) == 0);
}

}  // namespace takt
