// States of programs with recurrent state: what arrives goes on as what left.
#include "recurrent_program.h"
#include "state_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

std::vector<std::byte> exported_with(End& end, std::span<const int32_t> tokens, uint32_t n_computed) {
    std::vector<std::byte> bytes;
    StateWriter writer(end.layout, [&](std::span<const std::byte> more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
        return true;
    });
    REQUIRE(writer.begin({tokens, 3, n_computed}).ok());
    const Status status = writer.write_rest(*end.executable, end.driver->tables(1));
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(writer.total_bytes() == bytes.size());
    return bytes;
}

// A program whose recurrent state alone takes several chunks.
std::shared_ptr<const Program> wide_program() {
    constexpr uint32_t kWidth = 40000;
    ProgramBuilder b("wide", kRecurrentVocab);
    const ValueId x = b.embed("x", b.weight("table", DType::f32, kRecurrentVocab, kWidth));
    const uint32_t group = b.recurrent_group("recurrent");
    const ValueId mixed = b.short_conv("mixed", x, b.weight("taps", DType::f32, kWidth, 4),
                                       b.recurrent_state("conv", group, 3 * kWidth));
    const ValueId hidden = b.select_rows("hidden", mixed);
    const ValueId logits = b.matmul("logits", hidden, b.weight("table", DType::f32, kRecurrentVocab, kWidth));
    return std::make_shared<const Program>(std::move(b).finish(hidden, logits).value());
}

}  // namespace

TEST_CASE("a state with pages, a window and recurrent state goes on with the same bits elsewhere") {
    const std::vector<int32_t> tokens = recurrent_tokens(60);
    for (const auto& program : {recurrent_program(), recurrent_program(false), wide_program()}) {
        End from(DType::f16, 16, program), to(DType::f16, 32, program);
        for (const uint32_t n : {1u, 40u}) {
            CAPTURE(program->family, n);
            from.driver->release(1);
            to.driver->release(1);
            REQUIRE(from.driver->logits(1, std::span(tokens).first(n), 15).ok());
            const std::vector<std::byte> bytes = exported_with(from, tokens, n);
            StateReader reader(to.layout, Bytes(bytes));
            REQUIRE(reader.begin(kContext).ok());
            CHECK(reader.sequence().n_computed == n);
            const Status status = reader.read_rest(*to.executable, to.driver->receive(1, n));
            INFO(status.message());
            REQUIRE(status.ok());
            const auto rest = std::span(tokens).subspan(n, 10);
            CHECK(to.logits(rest) == from.logits(rest));
        }
    }
}

TEST_CASE("nothing of recurrent state is sent where nothing is computed") {
    End end(DType::f16, 16, recurrent_program());
    const std::vector<int32_t> tokens = recurrent_tokens(5);
    CHECK(exported_with(end, tokens, 0).size() ==
          sizeof(StateHeader) + 4 * sizeof(StateRow) + 2 * kChunkHeadBytes + 5 * sizeof(int32_t));
}

TEST_CASE("a state of other recurrent states is refused, and damage is found") {
    End from(DType::f16, 16, recurrent_program()), other(DType::f16, 16, recurrent_program(false)),
        to(DType::f16, 16, recurrent_program());
    const std::vector<int32_t> tokens = recurrent_tokens(20);
    REQUIRE(from.driver->logits(1, std::span(tokens).first(19), 19).ok());
    std::vector<std::byte> bytes = exported_with(from, tokens, 19);
    StateReader refused(other.layout, Bytes(bytes));
    CHECK(refused.begin(kContext).message() ==
          "The exported state has 4 states of layers, the model here has 2.");

    StateLayout wider = from.layout;
    wider.states.back().n_floats = 65;
    StateReader mismatched(wider, Bytes(bytes));
    CHECK(mismatched.begin(kContext).message() == "hidden has 64 floats in the exported state, 65 here.");

    bytes[bytes.size() - kChunkHeadBytes - 9] ^= std::byte{1};  // the last float but one
    StateReader damaged(to.layout, Bytes(bytes));
    REQUIRE(damaged.begin(kContext).ok());
    const Status status = damaged.read_rest(*to.executable, to.driver->receive(1, 19));
    CHECK(status.code() == StatusCode::state_corrupt);
    CHECK(status.message().find("the chunk of hidden from float 0 on") != std::string::npos);
}

}  // namespace takt
