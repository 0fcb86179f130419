// The reference backend against independent implementations, and against itself in other batches.
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "create/create.h"
#include "step_driver.h"
#include "tiny_models.h"

using namespace takt;
using namespace takt::test;

namespace {

// A compiled model and the driver that feeds it.
struct Compiled {
    std::shared_ptr<const Model> model;
    std::unique_ptr<Backend> backend;
    WeightStore store;
    CompileOptions options;
    std::unique_ptr<Executable> executable;
    std::unique_ptr<StepDriver> driver;

    Compiled(const std::string& name, uint32_t max_rows, uint32_t context_tokens, uint32_t n_sequences = 1,
             ThreadPool* pool = nullptr)
        : model(load_tiny(name)),
          backend(create_reference_backend({pool, nullptr, ""}).value()),
          options(compile_options(*model->program(), max_rows, context_tokens, n_sequences)) {
        auto weights = backend->load_weights(*model->program(), *model, store, {});
        INFO(weights.status().message());
        REQUIRE(weights.ok());
        auto compiled = backend->compile(model->program(), *weights, options);
        INFO(compiled.status().message());
        REQUIRE(compiled.ok());
        executable = std::move(*compiled);
        driver = std::make_unique<StepDriver>(*model->program(), *executable, options);
    }

    std::vector<float> logits(uint64_t sequence, std::span<const int32_t> ids, size_t chunk_tokens) {
        Result<std::vector<float>> result = driver->logits(sequence, ids, chunk_tokens);
        INFO(result.status().message());
        REQUIRE(result.ok());
        return *result;
    }
};

float worst_difference(const GoldenSequence& golden, std::span<const float> logits, size_t vocab_size) {
    float worst = 0;
    for (size_t i = 0; i < golden.positions.size(); ++i) {
        for (size_t id = 0; id < vocab_size; ++id) {
            const float difference =
                std::fabs(golden.logits[i * vocab_size + id] - logits[golden.positions[i] * vocab_size + id]);
            worst = difference <= worst ? worst : difference;  // a NaN becomes the worst
        }
    }
    return worst;
}

void check_golden(const std::string& name) {
    for (const GoldenSequence& golden : golden_sequences(name)) {
        for (size_t chunk : {golden.ids.size(), size_t{1}, size_t{5}}) {
            Compiled compiled(name, static_cast<uint32_t>(golden.ids.size()), golden.context_tokens);
            const std::vector<float> logits = compiled.logits(1, golden.ids, chunk);
            CAPTURE(name, golden.ids.size(), chunk);
            CHECK(worst_difference(golden, logits, compiled.model->program()->vocab_size) <=
                  2e-4f);  // measured up to 1.1e-4
        }
    }
}

std::vector<int32_t> random_ids(std::mt19937& random, size_t n) {
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % 384);
    return ids;
}

}  // namespace

TEST_CASE(
    "Logits of every supported family agree with an independent implementation within 2e-4, in any chunks") {
    for (const char* name : kTinyFamilies) check_golden(name);
    check_golden(kTinyLongRope);
    check_golden(kTinyMxfp4);
    for (const char* name : kTinyReferenceFamilies) check_golden(name);
}

TEST_CASE("Logits of every supported tensor type agree with the oracle within 2e-4, in any chunks") {
    for (const char* name : kTinyQuants) check_golden(name);
}

TEST_CASE("A row's bits don't depend on what else is in its batch") {
    for (const char* name : {"llama", "gemma3"}) {
        std::mt19937 random(11);
        std::vector<std::vector<int32_t>> prompts;
        for (size_t n : {1u, 17u, 40u, 6u}) prompts.push_back(random_ids(random, n));
        std::vector<std::vector<float>> alone;
        for (const std::vector<int32_t>& ids : prompts)
            alone.push_back(Compiled(name, 64, 64).logits(1, ids, ids.size()));

        ThreadPool pool(2);
        Compiled together(name, 64, 64, 4, &pool);
        std::vector<std::vector<float>> mixed(prompts.size());
        std::vector<size_t> fed(prompts.size(), 0);
        const size_t vocab_size = together.model->program()->vocab_size;
        // Steps of random chunks of a random choice of the sequences, until all are through.
        while (fed != std::vector<size_t>{1, 17, 40, 6}) {
            std::vector<StepDriver::Chunk> chunks;
            std::vector<size_t> owners;
            for (size_t s = 0; s < prompts.size(); ++s) {
                const size_t left = prompts[s].size() - fed[s];
                if (left == 0 || random() % 3 == 0) continue;
                const size_t n = std::min<size_t>(left, 1 + random() % 9);
                chunks.push_back(
                    {s, std::span<const int32_t>(prompts[s]).subspan(fed[s], n), OutputWanted::logits});
                owners.push_back(s);
            }
            if (chunks.empty()) continue;
            const Result<StepOutput> output = together.driver->step(chunks);
            INFO(output.status().message());
            REQUIRE(output.ok());
            size_t row = 0;
            for (size_t c = 0; c < chunks.size(); ++c) {
                const std::span<const float> rows =
                    output->logits.subspan(row * vocab_size, chunks[c].tokens.size() * vocab_size);
                mixed[owners[c]].insert(mixed[owners[c]].end(), rows.begin(), rows.end());
                fed[owners[c]] += chunks[c].tokens.size();
                row += chunks[c].tokens.size();
            }
        }
        for (size_t s = 0; s < prompts.size(); ++s) {
            CAPTURE(name, s);
            CHECK(mixed[s] == alone[s]);
        }
    }
}

TEST_CASE("Only what is wanted of a row is given") {
    Compiled compiled("llama", 8, 32, 2);
    const std::vector<int32_t> ids = {5, 6, 7}, more = {8};
    const StepDriver::Chunk chunks[] = {{1, ids, OutputWanted::none}, {2, more, OutputWanted::argmax}};
    const Result<StepOutput> output = compiled.driver->step(chunks);
    REQUIRE(output.ok());
    REQUIRE(output->rows.size() == 1);
    CHECK(output->rows[0] == 3);
    REQUIRE(output->argmax.size() == 1);
    CHECK(output->hidden.empty());
    const auto best = std::max_element(output->logits.begin(), output->logits.end()) - output->logits.begin();
    CHECK(output->argmax[0] == best);

    const StepDriver::Chunk silent{1, more, OutputWanted::none};
    const Result<StepOutput> nothing = compiled.driver->step({&silent, 1});
    REQUIRE(nothing.ok());
    CHECK(nothing->rows.empty());

    const StepDriver::Chunk hidden{1, more, OutputWanted::hidden};
    const Result<StepOutput> inner = compiled.driver->step({&hidden, 1});
    REQUIRE(inner.ok());
    CHECK(inner->hidden.size() == 64);
    CHECK(inner->argmax.empty());
}

TEST_CASE("Rows that are not committed are as if they had never run") {
    Compiled compiled("llama", 8, 32);
    const std::vector<int32_t> prompt = {1, 2, 3}, wrong = {9, 9, 9}, right = {4, 5};
    std::vector<uint32_t> pages = {0, 1};
    const BlockTable table(pages);
    auto run = [&](const std::vector<int32_t>& ids, uint32_t position) {
        const std::vector<OutputWanted> wanted(ids.size(), OutputWanted::logits);
        const BatchSequence sequence{1, 0, static_cast<uint32_t>(ids.size()), position, {&table, 1}};
        const Result<StepOutput> output = compiled.executable->run({ids, wanted, {&sequence, 1}});
        REQUIRE(output.ok());
        return std::vector<float>(output->logits.begin(), output->logits.end());
    };
    run(prompt, 0);
    REQUIRE(compiled.executable->commit(1, 3).ok());
    const std::vector<float> expected = run(right, 3);
    run(wrong, 3);
    REQUIRE(compiled.executable->commit(1, 0).ok());
    CHECK(run(right, 3) == expected);
    CHECK(compiled.executable->commit(1, 3).code() == StatusCode::invalid_argument);
    CHECK(compiled.executable->commit(2, 0).code() == StatusCode::invalid_argument);
}

TEST_CASE("A copied page serves as well as the one it came from") {
    Compiled compiled("gemma3", 8, 32);
    const std::vector<int32_t> prompt = {1, 2, 3}, next = {4};
    auto run = [&](const std::vector<int32_t>& ids, uint32_t position, uint32_t page) {
        const std::vector<OutputWanted> wanted(ids.size(), OutputWanted::logits);
        const BlockTable tables[] = {BlockTable(&page, 1), BlockTable(&page, 1)};
        const BatchSequence sequence{1, 0, static_cast<uint32_t>(ids.size()), position, tables};
        const Result<StepOutput> output = compiled.executable->run({ids, wanted, {&sequence, 1}});
        REQUIRE(output.ok());
        return std::vector<float>(output->logits.begin(), output->logits.end());
    };
    run(prompt, 0, 0);
    for (uint32_t group : {0u, 1u}) REQUIRE(compiled.executable->copy_page(group, 0, 1).ok());
    CHECK(run(next, 3, 0) == run(next, 3, 1));
    CHECK_FALSE(compiled.executable->copy_page(0, 0, 2).ok());
    CHECK_FALSE(compiled.executable->copy_page(2, 0, 1).ok());
}

TEST_CASE("The memory plan is exact to the byte") {
    Compiled compiled("gemma3", 8, 64, 3);
    const Result<MemoryPlan> plan = compiled.backend->plan(*compiled.model->program(), compiled.options);
    REQUIRE(plan.ok());
    const MemoryPlan have = compiled.executable->memory();
    CHECK(plan->weight_bytes == have.weight_bytes);
    CHECK(plan->state_bytes == have.state_bytes);
    CHECK(plan->scratch_bytes == have.scratch_bytes);
}

TEST_CASE("Loading tells its progress to the last byte, and stops when asked") {
    const auto model = load_tiny("quant-q4_0");
    auto backend = create_reference_backend({}).value();
    WeightStore store;
    uint64_t last = 0;
    const auto count = [&](uint64_t done, uint64_t total) {
        CHECK(done > last);
        CHECK(total == model->weight_bytes());
        last = done;
        return true;
    };
    const auto weights = backend->load_weights(*model->program(), *model, store, {count, {}});
    REQUIRE(weights.ok());
    CHECK(last == model->weight_bytes());
    // The store shares them while they live.
    CHECK(*backend->load_weights(*model->program(), *model, store, {}) == *weights);

    WeightStore other;
    const auto stopped = backend->load_weights(*model->program(), *model, other,
                                               {[](uint64_t, uint64_t) { return false; }, {}});
    REQUIRE_FALSE(stopped.ok());
    CHECK(stopped.status().code() == StatusCode::cancelled);
    CHECK(backend->load_weights(*model->program(), *model, other, {}).ok());
}

TEST_CASE("Weights that are not finite give an argmax of -1") {
    const auto model = load_model(std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/080_norm_nan.gguf");
    REQUIRE(model.ok());
    auto backend = create_reference_backend({}).value();
    WeightStore store;
    const CompileOptions options = compile_options(*(*model)->program(), 4, 16);
    auto weights = backend->load_weights(*(*model)->program(), **model, store, {});
    REQUIRE(weights.ok());
    auto executable = backend->compile((*model)->program(), *weights, options);
    REQUIRE(executable.ok());
    StepDriver driver(*(*model)->program(), **executable, options);
    const std::vector<int32_t> ids = {1};
    const StepDriver::Chunk chunk{1, ids, OutputWanted::argmax};
    const Result<StepOutput> output = driver.step({&chunk, 1});
    REQUIRE(output.ok());
    CHECK(output->argmax[0] == -1);
}
