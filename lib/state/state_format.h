// The bytes of one sequence's state outside an engine: its tokens, and the keys and values computed so far.
// state_writer.h makes them, state_reader.h checks and takes them. Little-endian throughout.
//
//   0     magic "TAKTSTAT", u32 version, u32 bytes of the header with its table
//   16    u64 checksum of all other bytes of the header
//   24    u64 model (Model::fingerprint()), u64 bytes of the whole, end mark included
//   40    u32 tokens, u32 of them the prompt's, u32 of them computed, u32 states
//   56    table, a row of six u32 for each state: group, window, kv heads, key and value dimensions, GGUF
//   type; for each recurrent one behind them: group, 0, 0, its number of floats, 0, f32
//
// Then chunks, each with a head of 32 bytes:
//
//   0     u32 kind, u32 state, u32 first, u32 number, u64 bytes behind the head
//   24    u64 checksum of that and of those bytes, which begins with the checksum before it
//
// Kind 1 holds token ids as i32; kind 2 keys and values of one state, positions [first, first + number), as
// Executable::read_state() gives them; kind 3 is the end mark and holds nothing; kind 4 floats [first, first
// + number) of a recurrent state behind the last computed token. All tokens come first, then state by state
// all positions, of a window group those that the next row can see. A chunk is as large as kChunkBytes
// allows, so order and sizes follow from the header, and a reader knows each head before it comes. Pages
// don't show. Each checksum goes on from the one before, so a chunk serves only where it was written. It
// finds accidents, not forgeries; what is forged well is still only numbers, never a place in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/step_batch.h"
#include "base/status.h"
#include "program/program.h"
#include "tensor/dtype.h"

namespace takt {

inline constexpr uint32_t kStateVersion = 1;
// Of a chunk, unless a single position takes more: what a move needs of memory on each side.
inline constexpr size_t kChunkBytes = size_t{256} << 10;

// Takes all bytes, or stops the export by false.
using WriteBytes = std::function<bool(std::span<const std::byte>)>;
// Fills all bytes; false where no more come.
using ReadBytes = std::function<bool(std::span<std::byte>)>;

// What both ends must have in common, or keys and values of one mean nothing to the other.
struct StateLayout {
    struct State {
        std::string name;
        uint32_t group = 0, window = 0, n_kv_heads = 0, key_dim = 0, value_dim = 0;
        DType dtype{};
        uint64_t bytes_per_token = 0;
        uint32_t index = 0;     // in the program's states, or its recurrent ones
        uint32_t n_floats = 0;  // 0: keys and values, else recurrent
    };
    uint64_t model = 0;
    uint32_t vocab_size = 0;
    std::vector<State> states;

    // Of a compiled program. kv_dtype is what its executable says.
    static Result<StateLayout> of(const Program& program, uint64_t model, std::optional<DType> kv_dtype);
};

// A sequence but for its keys and values.
struct SequenceTokens {
    std::span<const int32_t> ids;  // the prompt, and what was chosen since
    uint32_t n_prompt = 0;         // of them
    // Of them, those whose keys and values exist. The others (mostly the one chosen last) are yet to be fed.
    uint32_t n_computed = 0;
};

// The first 24 bytes of a chunk's head, as they lie in the file.
struct StateChunk {
    enum class Kind : uint32_t { tokens = 1, keys_and_values = 2, end = 3, recurrent = 4 };
    Kind kind = Kind::tokens;
    uint32_t state = 0, first = 0, number = 0;
    uint64_t bytes = 0;
    bool operator==(const StateChunk&) const = default;
};

static_assert(sizeof(StateChunk) == 24);

struct StateHeader {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t checksum, model, total_bytes;
    uint32_t n_tokens, n_prompt, n_computed, n_states;
};
static_assert(sizeof(StateHeader) == 56);

struct StateRow {
    uint32_t group, window, n_kv_heads, key_dim, value_dim, dtype;
    bool operator==(const StateRow&) const = default;
};
static_assert(sizeof(StateRow) == 24);

inline constexpr size_t kChunkHeadBytes = sizeof(StateChunk) + sizeof(uint64_t);
inline constexpr size_t kMaxStates = 4096;

StateRow row_of(const StateLayout::State& state);
// Of the tables of all groups, the state's.
Result<BlockTable> table_of(const StateLayout::State& state, std::span<const BlockTable> tables);
// The slot that a recurrent group's table names.
inline uint32_t slot_of(BlockTable table) {
    return table.empty() ? kNoPage : table[0];
}
// What the header of this sequence must be.
StateHeader header_of(const StateLayout& layout, const SequenceTokens& sequence);
// header_and_table: whole. The checksum within is left out.
uint64_t header_checksum(std::span<const std::byte> header_and_table);
uint64_t chunk_checksum(const StateChunk& chunk, std::span<const std::byte> bytes, uint64_t before);

// The chunks of a state in their order.
class StateChunks {
public:
    // The layout outlives this.
    StateChunks(const StateLayout& layout, uint32_t n_tokens, uint32_t n_computed);
    const StateChunk& current() const { return current_; }
    void next();  // stays at the end mark
    // Of any of its chunks, head included.
    size_t largest_bytes() const;

private:
    void begin_state(uint32_t state);
    // Of what the current chunk is a part of: where it ends, and bytes each.
    uint32_t end() const;
    uint64_t bytes_each() const;

    const StateLayout* layout_;
    uint32_t n_tokens_, n_computed_;
    StateChunk current_;
};

// Header, table, chunks and end mark.
uint64_t state_bytes(const StateLayout& layout, uint32_t n_tokens, uint32_t n_computed);

}  // namespace takt
