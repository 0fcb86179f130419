// A state that goes from one executable to another through bytes, and every way in which bytes can be
// others'.
#include <catch2/catch.hpp>

#include "state_fixture.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr uint32_t kComputed = 53;

// A sound state whose header was changed by `change`, and its checksum with it.
template <typename Change>
std::vector<std::byte> with_header(std::vector<std::byte> bytes, Change change) {
    StateHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const size_t n = header.header_bytes;
    change(header, std::span(bytes).subspan(sizeof header));
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = header_checksum(std::span(bytes).first(n));
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

}  // namespace

TEST_CASE("a sequence goes on from an exported state with the same bits, for every type and page size") {
    const std::vector<int32_t> tokens = state_tokens(70);
    for (const DType dtype : {DType::f32, DType::f16, DType::q8_0}) {
        for (const uint32_t page_tokens : {8u, 16u, 24u}) {
            End from(dtype), to(dtype, page_tokens);
            from.compute(kComputed);
            const std::vector<std::byte> bytes = exported(from, kComputed);
            StateReader reader(to.layout, Bytes(bytes));
            const Status status = import_all(reader, to);
            INFO(status.message());
            REQUIRE(status.ok());
            CHECK(reader.total_bytes() == bytes.size());
            CHECK(reader.read_bytes() == bytes.size());
            const SequenceTokens sequence = reader.sequence();
            CHECK(std::ranges::equal(sequence.ids, state_tokens(kComputed + 1)));
            CHECK(sequence.n_prompt == kComputed / 2);
            CHECK(sequence.n_computed == kComputed);
            const std::span<const int32_t> later = std::span(tokens).subspan(kComputed);
            CHECK(to.logits(later) == from.logits(later));
            // What came out of it can go on.
            to.driver->release(1);
            REQUIRE(import_all(bytes, to).ok());
            CHECK(exported(to, kComputed) == bytes);
        }
    }
}

TEST_CASE("a window group's part is what the next row can see, and a state may have nothing computed") {
    End end;
    end.compute(kComputed);
    const uint64_t per_token = end.layout.states[0].bytes_per_token;
    const uint64_t fixed = 56 + 2 * 24 + 32;
    CHECK(exported(end, kComputed).size() ==
          fixed + 32 + 4 * (kComputed + 1) + 64 + (kComputed + kStateWindow - 1) * per_token);
    CHECK(exported(end, 0).size() == fixed + 32 + 4);
    REQUIRE(import_all(exported(end, 0), end).ok());
}

TEST_CASE("long tokens and many positions come in chunks of a limited size") {
    constexpr uint32_t kLong = 4000;
    End from(DType::f32, 32, state_program(64, 64), kLong + 8);
    const std::vector<int32_t> tokens = state_tokens(kLong + 1);
    const std::vector<BlockTable> tables = from.driver->receive(1, kLong);
    std::vector<std::byte> bytes;
    size_t largest = 0, n_writes = 0;
    StateWriter writer(from.layout, [&](std::span<const std::byte> more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
        largest = std::max(largest, more.size());
        ++n_writes;
        return true;
    });
    REQUIRE(writer.begin({tokens, 1, kLong}).ok());
    CHECK(writer.total_bytes() > 4'000'000);
    // Chunk by chunk, as an engine does it between its steps.
    while (!writer.done()) {
        REQUIRE(writer.fill(*from.executable, tables).ok());
        REQUIRE(writer.send().ok());
    }
    REQUIRE(writer.finish().ok());
    CHECK(bytes.size() == writer.total_bytes());
    CHECK(largest <= kChunkBytes + 32);
    CHECK(n_writes == 1 + 1 + 16 + 1 + 1);  // header, tokens, 4000 positions, 19 of the window, end

    End to(DType::f32, 16, state_program(64, 64), kLong + 8);
    size_t largest_read = 0;
    Bytes source(bytes);
    StateReader reader(to.layout, [&](std::span<std::byte> out) {
        largest_read = std::max(largest_read, out.size());
        return source(out);
    });
    REQUIRE(reader.begin(kLong + 8).ok());
    const std::vector<BlockTable> tables_to = to.driver->receive(1, kLong);
    while (!reader.done()) {
        REQUIRE(reader.receive().ok());
        REQUIRE(reader.store(*to.executable, tables_to).ok());
    }
    REQUIRE(reader.finish().ok());
    CHECK(reader.check_nothing_follows().ok());
    CHECK(largest_read <= kChunkBytes);
}

TEST_CASE(
    "a state of another model, layout, type or version is refused with what it has and what is needed") {
    End from, to;
    from.compute(kComputed);
    const std::vector<std::byte> bytes = exported(from, kComputed);
    const auto refused = [&](std::span<const std::byte> state, End& end, StatusCode code,
                             const std::string& sentence) {
        const Status status = import_all(state, end);
        CHECK(status.code() == code);
        CHECK(status.message() == sentence);
    };
    const auto mismatch = [&](auto change, const std::string& sentence) {
        refused(with_header(bytes, change), to, StatusCode::state_mismatch, sentence);
    };
    const auto row = [&](size_t state, uint32_t StateRow::* field, uint32_t value) {
        return [=](StateHeader&, std::span<std::byte> table) {
            StateRow changed;
            std::memcpy(&changed, table.data() + state * sizeof changed, sizeof changed);
            changed.*field = value;
            std::memcpy(table.data() + state * sizeof changed, &changed, sizeof changed);
        };
    };
    mismatch([](StateHeader& h, auto) { h.version = 2; },
             "The exported state has version 2, this takt reads 1.");
    mismatch([](StateHeader& h, auto) { h.model = 7; },
             "The exported state is of model 0000000000000007, the one here is 0123456789abcdef.");
    mismatch(row(1, &StateRow::group, 0), "blk.1.kv has group 0 in the exported state, 1 here.");
    mismatch(row(1, &StateRow::window, 512), "blk.1.kv has window 512 in the exported state, 20 here.");
    mismatch(row(0, &StateRow::n_kv_heads, 8),
             "blk.0.kv has a number of key heads of 8 in the exported state, 2 here.");
    mismatch(row(0, &StateRow::key_dim, 16), "blk.0.kv has key dimension 16 in the exported state, 32 here.");
    mismatch(row(0, &StateRow::value_dim, 64),
             "blk.0.kv has value dimension 64 in the exported state, 32 here.");
    mismatch(row(0, &StateRow::dtype, 77),
             "Keys and values of blk.0.kv are type 77 in the exported state, f16 here.");
    End blocks(DType::q8_0);
    refused(bytes, blocks, StatusCode::state_mismatch,
            "Keys and values of blk.0.kv are f16 in the exported state, q8_0 here.");
    End other(DType::f16, 16, state_program(64, 32));
    refused(bytes, other, StatusCode::state_mismatch,
            "blk.0.kv has key dimension 32 in the exported state, 64 here.");
    End shallow;
    shallow.layout.states.pop_back();
    refused(bytes, shallow, StatusCode::state_mismatch,
            "The exported state has 2 states of layers, the model here has 1.");
    StateReader reader(to.layout, Bytes(bytes));
    const Status too_long = reader.begin(kComputed);
    CHECK(too_long.code() == StatusCode::prompt_too_long);
    CHECK(too_long.message() == "The exported state has 54 tokens, there is room for 53.");
}

TEST_CASE("a state that is cut, changed or none is refused by what is wrong with it") {
    End from, to;
    from.compute(kComputed);
    const std::vector<std::byte> bytes = exported(from, kComputed);
    const auto corrupt = [&](std::span<const std::byte> state, const std::string& sentence) {
        const Status status = import_all(state, to);
        CHECK(status.code() == StatusCode::state_corrupt);
        CHECK(status.message().starts_with(sentence));
    };
    const auto forged = [&](auto change, const std::string& sentence) {
        corrupt(with_header(bytes, change), "The exported state is damaged: " + sentence);
    };
    const std::string damaged = "The exported state is damaged: ";
    const std::vector<std::byte> zeros(1000);
    corrupt(zeros, "This is no exported state: it doesn't begin with TAKTSTAT.");
    corrupt({}, damaged + "56 bytes are due from byte 0 on, and it ends before.");
    corrupt(std::span(bytes).first(70), damaged + "48 bytes are due from byte 56 on, and it ends before.");
    corrupt(std::span(bytes).first(bytes.size() - 1),
            damaged + "32 bytes are due from byte " + std::to_string(bytes.size() - 32));
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    corrupt(longer, damaged + "more bytes follow its end mark, which ends at byte " +
                        std::to_string(bytes.size()) + ".");
    forged([](StateHeader& h, auto) { h.n_states = ~0u; },
           "its header tells of 4294967295 states and has 104 bytes.");
    forged([](StateHeader& h, auto) { h.header_bytes = ~0u; },
           "its header tells of 2 states and has 4294967295 bytes.");
    forged([](StateHeader& h, auto) { h.n_tokens = 0; }, "it tells of 0 tokens, 26 of the prompt and 53");
    forged([](StateHeader& h, auto) { h.n_prompt = 55; }, "it tells of 54 tokens, 55 of the prompt and 53");
    forged([](StateHeader& h, auto) { h.n_computed = ~0u; },
           "it tells of 54 tokens, 26 of the prompt and 4294967295 computed.");
    forged([](StateHeader& h, auto) { h.n_tokens = 55; }, "it tells of ");
    forged([](StateHeader& h, auto) { h.total_bytes += 4; }, "it tells of ");
    // Sound numbers, but the chunks are of a header before them.
    forged([](StateHeader& h, auto) { h.n_prompt = 3; },
           "the chunk of tokens from 0 on, at byte 104, should");

    std::vector<std::byte> changed = bytes;
    changed[30] ^= std::byte{1};
    corrupt(changed, damaged + "its header has checksum ");
    changed = bytes;
    changed[104] = std::byte{9};
    corrupt(changed, damaged +
                         "the chunk of tokens from 0 on should begin at byte 104, and something else "
                         "does.");
    changed = bytes;
    changed[400] ^= std::byte{1};
    corrupt(changed,
            damaged + "the chunk of blk.0.kv from position 0 on, at byte 352, should have checksum ");
    changed = bytes;
    changed[bytes.size() - 1] ^= std::byte{1};
    corrupt(changed, damaged + "the end mark, at byte ");
}

TEST_CASE("a chunk serves only in the state it was written for") {
    End from, to;
    from.compute(kComputed);
    const std::vector<std::byte> bytes = exported(from, kComputed);
    End wider(DType::f16, 16, state_program(32, 32));
    REQUIRE(wider.driver->logits(1, std::vector<int32_t>(kComputed, 3), 20).ok());
    const std::vector<std::byte> other = exported(wider, kComputed);
    REQUIRE(other.size() == bytes.size());
    std::vector<std::byte> mixed = bytes;
    // All of the second layer and the end from another sequence's sound state of the same header.
    const size_t last = bytes.size() - 32 - 32 - (kStateWindow - 1) * from.layout.states[1].bytes_per_token;
    std::copy(other.begin() + static_cast<ptrdiff_t>(last), other.end(),
              mixed.begin() + static_cast<ptrdiff_t>(last));
    CHECK(import_all(other, to).ok());
    const Status status = import_all(mixed, to);
    CHECK(status.code() == StatusCode::state_corrupt);
    CHECK(status.message().find("the chunk of blk.1.kv from position 34 on") != std::string::npos);
}

TEST_CASE("tokens outside the vocabulary are refused on both sides") {
    End end;
    std::vector<int32_t> tokens = {1, 2, static_cast<int32_t>(kStateVocab)};
    std::vector<std::byte> bytes;
    StateLayout large = end.layout;
    large.vocab_size = 1000;
    StateWriter writer(large, [&](std::span<const std::byte> more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
        return true;
    });
    REQUIRE(writer.begin({tokens, 3, 0}).ok());
    REQUIRE(writer.finish().ok());
    const Status status = import_all(bytes, end);
    CHECK(status.code() == StatusCode::state_corrupt);
    CHECK(status.message() == "The exported state is damaged: its token 2 is 40, the vocabulary has 40.");

    StateWriter strict(end.layout, [](std::span<const std::byte>) { return true; });
    CHECK(strict.begin({tokens, 3, 0}).message() == "Token 2 of the sequence is 40, the vocabulary has 40.");
    tokens[2] = -1;
    CHECK(strict.begin({tokens, 3, 0}).code() == StatusCode::invalid_argument);
    tokens[2] = 0;
    CHECK(strict.begin({tokens, 4, 0}).message() ==
          "A sequence of 3 tokens, 4 of the prompt and 0 computed, can't be exported.");
    CHECK(strict.begin({tokens, 3, 4}).code() == StatusCode::invalid_argument);
    CHECK(strict.begin({{}, 0, 0}).code() == StatusCode::invalid_argument);
}

TEST_CASE("an export that is stopped says how far it came, wherever that is") {
    End end;
    end.compute(kComputed);
    const size_t total = exported(end, kComputed).size();
    const std::vector<int32_t> tokens = state_tokens(kComputed + 1);
    for (int allowed = 0; allowed < 5; ++allowed) {
        int n = 0;
        size_t taken = 0;
        StateWriter writer(end.layout, [&](std::span<const std::byte> bytes) {
            if (n++ == allowed) return false;
            taken += bytes.size();
            return true;
        });
        Status status = writer.begin({tokens, 3, kComputed});
        if (status.ok()) status = writer.write_rest(*end.executable, end.driver->tables(1));
        CHECK(status.code() == StatusCode::cancelled);
        CHECK(status.message().find("from byte " + std::to_string(taken) + " of " + std::to_string(total)) !=
              std::string::npos);
        CHECK(writer.sent_bytes() == taken);
    }
}

TEST_CASE("what a backend or a caller can't give is said") {
    End end;
    const Result<StateLayout> none = StateLayout::of(*end.program, kModel, std::nullopt);
    CHECK(none.status().code() == StatusCode::unsupported);
    end.compute(kComputed);
    const std::vector<int32_t> tokens = state_tokens(kComputed);
    StateWriter writer(end.layout, [](std::span<const std::byte>) { return true; });
    REQUIRE(writer.begin({tokens, 1, kComputed}).ok());
    CHECK(writer.fill(*end.executable, {}).message() ==
          "0 block tables are given, state blk.0.kv is of group 0.");
    end.driver->release(1);
    const std::vector<BlockTable> empty(2);
    CHECK(writer.fill(*end.executable, empty).code() == StatusCode::invalid_argument);
}
