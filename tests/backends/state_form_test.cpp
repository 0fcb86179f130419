// Keys and values that leave one executable and enter another: the same bits whatever the pages, for every
// backend and type.
#include "backend/state_form.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/step_batch_check.h"
#include "random_weights.h"
#include "state_program.h"
#include "step_driver.h"
#include "tensor/quant_blocks.h"
#include "test_backends.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr uint32_t kContext = 96;
constexpr DType kKvTypes[] = {DType::f32, DType::f16, DType::q8_0};

// A program compiled for a backend.
struct Compiled {
    std::shared_ptr<const Program> program;
    CompileOptions options;
    std::unique_ptr<Executable> executable;
    std::unique_ptr<StepDriver> driver;

    Compiled(Backend& backend, std::shared_ptr<const Program> of, DType kv_dtype, uint32_t page_tokens)
        : program(std::move(of)), options(compile_options(*program, kContext, kContext, 2, page_tokens)) {
        options.kv_dtype = kv_dtype;
        WeightStore store;
        const RandomWeights source(*program, 5);
        const auto weights = backend.load_weights(*program, source, store, {});
        REQUIRE(weights.ok());
        auto compiled = backend.compile(program, *weights, options);
        INFO(compiled.status().message());
        REQUIRE(compiled.ok());
        executable = std::move(*compiled);
        driver = std::make_unique<StepDriver>(*program, *executable, options);
    }

    uint64_t bytes(uint32_t state, uint32_t n_positions) const {
        return n_positions * state_bytes_per_token(program->states[state], *options.kv_dtype);
    }
    std::vector<std::byte> read(uint32_t state, BlockTable table, uint32_t first, uint32_t n) {
        std::vector<std::byte> bytes(this->bytes(state, n));
        const Status status = executable->read_state({{state}, table, first, n}, bytes);
        INFO(status.message());
        REQUIRE(status.ok());
        return bytes;
    }
};

// What rows after n_tokens can see of a state, in pieces.
void hand_over(Compiled& from, Compiled& to, uint32_t n_tokens, uint32_t piece) {
    const std::vector<BlockTable> tables_from = from.driver->tables(1),
                                  tables_to = to.driver->receive(1, n_tokens);
    for (uint32_t s = 0; s < from.program->states.size(); ++s) {
        const uint32_t group = from.program->states[s].group;
        uint32_t first = first_visible_position(n_tokens, from.program->groups[group].window);
        for (uint32_t n = 0; first < n_tokens; first += n) {
            n = std::min(piece, n_tokens - first);
            const std::vector<std::byte> bytes = from.read(s, tables_from[group], first, n);
            const Status status = to.executable->write_state({{s}, tables_to[group], first, n}, bytes);
            INFO(status.message());
            REQUIRE(status.ok());
            CHECK(to.read(s, tables_to[group], first, n) == bytes);
        }
    }
}

std::vector<float> logits(Compiled& compiled, std::span<const int32_t> tokens) {
    Result<std::vector<float>> logits = compiled.driver->logits(1, tokens, 3);
    INFO(logits.status().message());
    REQUIRE(logits.ok());
    return std::move(*logits);
}

struct Dims {
    uint32_t key, value;
};

}  // namespace

TEST_CASE("a sequence goes on with the same bits in another executable with other pages") {
    const std::vector<int32_t> tokens = state_tokens(70);
    const std::span<const int32_t> all(tokens);
    for (const Dims dims : {Dims{32, 64}, Dims{20, 24}}) {
        const auto program = state_program(dims.key, dims.value);
        for (TestedBackend& tested : backends_under_test()) {
            for (const DType dtype : kKvTypes) {
                if (dtype == DType::q8_0 && dims.key % 32 != 0) continue;
                for (const uint32_t page_tokens : {16u, 24u, 32u}) {
                    CAPTURE(dims.key, tested.label, dtype_info(dtype).name, page_tokens);
                    Compiled from(*tested.backend, program, dtype, 16);
                    Compiled to(*tested.backend, program, dtype, page_tokens);
                    CHECK(from.executable->kv_dtype() == dtype);
                    // The receiver's pages are not empty.
                    REQUIRE(to.driver->logits(2, all.last(60), 60).ok());
                    to.driver->release(2);
                    REQUIRE(from.driver->logits(1, all.first(53), 20).ok());
                    hand_over(from, to, 53, 7);
                    CHECK(logits(to, all.subspan(53)) == logits(from, all.subspan(53)));
                }
            }
        }
    }
}

TEST_CASE("a sequence goes on in another backend, as close as the backends are") {
    const std::vector<int32_t> tokens = state_tokens(60);
    const std::span<const int32_t> all(tokens);
    const auto program = state_program(32, 64);
    const TestedBackend reference = make_tested("reference", create_reference_backend);
    for (TestedBackend& tested : backends_under_test()) {
        for (const DType dtype : kKvTypes) {
            CAPTURE(tested.label, dtype_info(dtype).name);
            for (const bool outwards : {true, false}) {
                Compiled from(outwards ? *reference.backend : *tested.backend, program, dtype, 16);
                Compiled to(outwards ? *tested.backend : *reference.backend, program, dtype, 32);
                REQUIRE(from.driver->logits(1, all.first(45), 45).ok());
                hand_over(from, to, 45, 45);
                const std::vector<float> expected = logits(from, all.subspan(45)),
                                         got = logits(to, all.subspan(45));
                double difference = 0, size = 0;
                for (size_t i = 0; i < got.size(); ++i) {
                    difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
                    size += std::pow(static_cast<double>(expected[i]), 2);
                }
                // Later keys are rounded to other neighbours where the products differ in a last bit.
                CHECK(std::sqrt(difference / size) <= (dtype == DType::f32 ? 1e-4 : 5e-3));
            }
        }
    }
}

TEST_CASE("the form is all keys, then all values, by position, head and dimension") {
    const auto program = state_program(32, 64);
    const std::vector<int32_t> tokens = state_tokens(5);
    for (TestedBackend& tested : backends_under_test()) {
        CAPTURE(tested.label);
        Compiled plain(*tested.backend, program, DType::f32, 16),
            half(*tested.backend, program, DType::f16, 16), blocks(*tested.backend, program, DType::q8_0, 16);
        std::vector<std::byte> bytes[3];
        size_t i = 0;
        for (Compiled* compiled : {&plain, &half, &blocks}) {
            REQUIRE(compiled->driver->logits(1, tokens, 5).ok());
            bytes[i++] = compiled->read(0, compiled->driver->tables(1)[0], 0, 5);
        }
        const size_t n = 5 * 2 * (32 + 64);
        CHECK(bytes[0].size() == n * 4);
        CHECK(bytes[1].size() == n * 2);
        CHECK(bytes[2].size() == n / 32 * sizeof(BlockQ8_0));
        std::vector<float> values[3];
        i = 0;
        for (const DType dtype : {DType::f32, DType::f16, DType::q8_0}) {
            values[i].resize(n);
            dequantize_row(dtype, bytes[i], values[i]);
            ++i;
        }
        // Of one layer's input the types keep more or less.
        for (size_t v = 0; v < n; ++v) {
            CHECK(values[1][v] == Approx(values[0][v]).epsilon(1e-3).margin(1e-4));
            CHECK(values[2][v] == Approx(values[0][v]).epsilon(1e-2).margin(0.2));
        }
        // Rows of the second position alone are the second rows of keys and of values.
        const std::vector<std::byte> second = plain.read(0, plain.driver->tables(1)[0], 1, 1);
        const size_t key_bytes = 2 * 32 * 4, value_bytes = 2 * 64 * 4;
        CHECK(std::memcmp(second.data(), bytes[0].data() + key_bytes, key_bytes) == 0);
        CHECK(std::memcmp(second.data() + key_bytes, bytes[0].data() + 5 * key_bytes + value_bytes,
                          value_bytes) == 0);
    }
}

TEST_CASE(
    "blocks of any scale pass through a backend unchanged in value, and never as a number where they "
    "are none") {
    const auto program = state_program(32, 32);
    for (TestedBackend& tested : backends_under_test()) {
        CAPTURE(tested.label);
        Compiled compiled(*tested.backend, program, DType::q8_0, 16);
        const std::vector<BlockTable> tables = compiled.driver->receive(1, 1);
        std::mt19937 random(3);
        for (int round = 0; round < 400; ++round) {
            BlockQ8_0 in[4], out[4];
            for (BlockQ8_0& block : in) {
                // Every kind of float16, tiny and negative ones and those that aren't finite too.
                block.d = static_cast<uint16_t>(round % 3 == 0 ? random() % 1200 : random());
                const int largest = 1 + static_cast<int>(random() % 127);
                for (int8_t& value : block.values)
                    value = static_cast<int8_t>(static_cast<int>(random() % (2u * largest + 1)) - largest);
                if (round % 5 == 0) block.values[3] = -128;
            }
            const auto bytes = std::as_bytes(std::span(in));
            REQUIRE(compiled.executable->write_state({{0}, tables[0], 0, 1}, bytes).ok());
            REQUIRE(compiled.executable
                        ->read_state({{0}, tables[0], 0, 1}, std::as_writable_bytes(std::span(out)))
                        .ok());
            float before[128], after[128];
            dequantize_row(DType::q8_0, bytes, before);
            dequantize_row(DType::q8_0, std::as_bytes(std::span(out)), after);
            for (size_t block = 0; block < 4; ++block) {
                const std::span<const float> from(before + 32 * block, 32), to(after + 32 * block, 32);
                const bool finite = std::ranges::all_of(from, [](float x) { return std::isfinite(x); });
                CHECK((finite ? std::ranges::equal(from, to)
                              : std::ranges::none_of(to, [](float x) { return std::isfinite(x); })));
            }
        }
    }
}

TEST_CASE("a range that doesn't exist is refused by name, and nothing is touched") {
    const auto program = state_program(32, 64);
    for (TestedBackend& tested : backends_under_test()) {
        CAPTURE(tested.label);
        Compiled compiled(*tested.backend, program, DType::f16, 16);
        REQUIRE(compiled.driver->logits(1, state_tokens(50), 50).ok());
        const std::vector<BlockTable> tables = compiled.driver->tables(1);
        const std::vector<std::byte> before = compiled.read(0, tables[0], 0, 50);
        const auto refused = [&](const StateRange& range, uint64_t n_bytes, const std::string& sentence) {
            std::vector<std::byte> bytes(n_bytes, std::byte{7});
            const std::vector<std::byte> same = bytes;
            const Status read = compiled.executable->read_state(range, bytes),
                         written = compiled.executable->write_state(range, bytes);
            CHECK(read.code() == StatusCode::invalid_argument);
            CHECK(read.message() == sentence);
            CHECK(written.message() == sentence);
            CHECK(bytes == same);
        };
        refused({{2}, tables[0], 0, 1}, 384, "State 2 doesn't exist, the program has 2.");
        refused({{0}, tables[0], 0, 0}, 0, "State blk.0.kv: no positions are asked for.");
        refused({{0}, tables[0], 95, 2}, 768,
                "State blk.0.kv: position 96 is asked for, the context holds 96.");
        refused({{0}, tables[0], 3, ~0u}, 384,
                "State blk.0.kv: position 4294967297 is asked for, the context holds 96.");
        refused({{0}, tables[0], 60, 5}, 1920,
                "State blk.0.kv: the block table has 4 pages of 16, position 64 needs 5.");
        refused({{1}, tables[1], 10, 30}, 11520,
                "State blk.1.kv: positions 10 to 39 are asked for, 0 to 15 have no page.");
        const std::vector<uint32_t> wrong = {0, 12};
        refused({{0}, wrong, 15, 2}, 768,
                "State blk.0.kv: entry 1 of the block table is page 12, the group has 12.");
        refused({{0}, tables[0], 0, 2}, 767, "State blk.0.kv: 2 positions of f16 take 768 bytes, not 767.");
        CHECK(compiled.read(0, tables[0], 0, 50) == before);
    }
}
