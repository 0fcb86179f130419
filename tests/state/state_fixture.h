// A sequence computed on the reference backend, its exported state, and an engine's other end to take it.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "create/create.h"
#include "random_weights.h"
#include "state/state_reader.h"
#include "state/state_writer.h"
#include "state_program.h"
#include "step_driver.h"

namespace takt::test {

constexpr uint64_t kModel = 0x0123456789abcdef;
constexpr uint32_t kContext = 96;

// The program of state_program.h, compiled.
struct End {
    std::shared_ptr<const Program> program;
    CompileOptions options;
    std::unique_ptr<Backend> backend = create_reference_backend({}).value();
    std::unique_ptr<Executable> executable;
    std::unique_ptr<StepDriver> driver;
    StateLayout layout;

    explicit End(DType kv_dtype = DType::f16, uint32_t page_tokens = 16,
                 std::shared_ptr<const Program> of = state_program(32, 32), uint32_t context = kContext)
        : program(std::move(of)), options(compile_options(*program, context, context, 1, page_tokens)) {
        options.kv_dtype = kv_dtype;
        WeightStore store;
        const RandomWeights source(*program, 5);
        executable =
            backend->compile(program, backend->load_weights(*program, source, store, {}).value(), options)
                .value();
        driver = std::make_unique<StepDriver>(*program, *executable, options);
        layout = StateLayout::of(*program, kModel, executable->kv_dtype()).value();
    }

    // Computes n tokens as sequence 1.
    void compute(uint32_t n) {
        const std::vector<int32_t> tokens = state_tokens(n);
        REQUIRE(driver->logits(1, tokens, 20).ok());
    }
    std::vector<float> logits(std::span<const int32_t> tokens) {
        return driver->logits(1, tokens, tokens.size()).value();
    }
};

// One more token than was computed.
inline std::vector<std::byte> exported(End& end, uint32_t n_computed) {
    std::vector<std::byte> bytes;
    StateWriter writer(end.layout, [&](std::span<const std::byte> more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
        return true;
    });
    const std::vector<int32_t> tokens = state_tokens(n_computed + 1);
    Status status = writer.begin({tokens, n_computed / 2, n_computed});
    if (status.ok()) status = writer.write_rest(*end.executable, end.driver->tables(1));
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(writer.sent_bytes() == bytes.size());
    CHECK(writer.total_bytes() == bytes.size());
    return bytes;
}

// Gives out bytes that are there.
class Bytes {
public:
    explicit Bytes(std::span<const std::byte> bytes) : left_(bytes) {}
    bool operator()(std::span<std::byte> out) {
        if (out.size() > left_.size()) return false;
        std::copy_n(left_.begin(), out.size(), out.begin());
        left_ = left_.subspan(out.size());
        return true;
    }

private:
    std::span<const std::byte> left_;
};

// Takes a state as sequence 1, with nothing behind it. `reader` was made over the bytes.
inline Status import_all(StateReader& reader, End& end) {
    TAKT_RETURN_IF_ERROR(reader.begin(kContext));
    end.driver->release(1);
    const std::vector<BlockTable> tables = end.driver->receive(1, reader.sequence().n_computed);
    TAKT_RETURN_IF_ERROR(reader.read_rest(*end.executable, tables));
    return reader.check_nothing_follows();
}

inline Status import_all(std::span<const std::byte> bytes, End& end) {
    StateReader reader(end.layout, Bytes(bytes));
    return import_all(reader, end);
}

}  // namespace takt::test
