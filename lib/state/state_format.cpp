// Sizes and order of chunks, worked out from the header alone.
#include "state/state_format.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "backend/state_form.h"
#include "backend/step_batch_check.h"
#include "base/checksum.h"

namespace takt {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr uint64_t kTokenBytes = sizeof(int32_t);

// How many things of this size a chunk holds.
uint32_t number_of(uint64_t bytes_each, uint32_t n_left) {
    const uint64_t fit = std::max<uint64_t>(1, kChunkBytes / bytes_each);
    return static_cast<uint32_t>(std::min<uint64_t>(fit, n_left));
}

}  // namespace

Result<StateLayout> StateLayout::of(const Program& program, uint64_t model, std::optional<DType> kv_dtype) {
    if (!kv_dtype) {
        return Status(StatusCode::unsupported,
                      "This backend can't give out or take in keys and values, so states can't be moved.");
    }
    const size_t n_states = program.states.size() + program.recurrent_states.size();
    if (n_states > kMaxStates) {
        return Status(
            StatusCode::unsupported,
            fmt::format("The model keeps {} states, an exported one holds {}.", n_states, kMaxStates));
    }
    StateLayout layout{model, program.vocab_size, {}};
    for (const KvStateDecl& state : program.states) {
        layout.states.push_back({state.name, state.group, program.groups[state.group].window,
                                 state.n_kv_heads, state.key_dim, state.value_dim, *kv_dtype,
                                 state_bytes_per_token(state, *kv_dtype),
                                 static_cast<uint32_t>(layout.states.size())});
    }
    for (uint32_t i = 0; i < program.recurrent_states.size(); ++i) {
        const RecurrentStateDecl& state = program.recurrent_states[i];
        layout.states.push_back({state.name, state.group, 0, 0, 0, 0, DType::f32, 0, i, state.n_floats});
    }
    return layout;
}

StateRow row_of(const StateLayout::State& state) {
    if (state.n_floats != 0)
        return {state.group, 0, 0, state.n_floats, 0, static_cast<uint32_t>(state.dtype)};
    return {state.group,   state.window,    state.n_kv_heads,
            state.key_dim, state.value_dim, static_cast<uint32_t>(state.dtype)};
}

Result<BlockTable> table_of(const StateLayout::State& state, std::span<const BlockTable> tables) {
    if (state.group < tables.size()) return tables[state.group];
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} block tables are given, state {} is of group {}.", tables.size(),
                              state.name, state.group));
}

StateHeader header_of(const StateLayout& layout, const SequenceTokens& sequence) {
    StateHeader header{};
    std::copy_n("TAKTSTAT", 8, header.magic);
    header.version = kStateVersion;
    header.header_bytes = static_cast<uint32_t>(sizeof header + layout.states.size() * sizeof(StateRow));
    header.model = layout.model;
    header.n_tokens = static_cast<uint32_t>(sequence.ids.size());
    header.n_prompt = sequence.n_prompt;
    header.n_computed = sequence.n_computed;
    header.n_states = static_cast<uint32_t>(layout.states.size());
    header.total_bytes = state_bytes(layout, header.n_tokens, header.n_computed);
    return header;
}

uint64_t header_checksum(std::span<const std::byte> header_and_table) {
    constexpr size_t kAt = offsetof(StateHeader, checksum), kBehind = kAt + sizeof(uint64_t);
    return checksum64(header_and_table.subspan(kBehind), checksum64(header_and_table.first(kAt)));
}

uint64_t chunk_checksum(const StateChunk& chunk, std::span<const std::byte> bytes, uint64_t before) {
    return checksum64(bytes, checksum64(std::as_bytes(std::span(&chunk, 1)), before));
}

StateChunks::StateChunks(const StateLayout& layout, uint32_t n_tokens, uint32_t n_computed)
    : layout_(&layout), n_tokens_(n_tokens), n_computed_(n_computed) {
    const uint32_t n = number_of(kTokenBytes, n_tokens);
    current_ = {StateChunk::Kind::tokens, 0, 0, n, n * kTokenBytes};
}

// At the first state from here on of which a later row can see something.
void StateChunks::begin_state(uint32_t state) {
    for (; state < layout_->states.size(); ++state) {
        const StateLayout::State& of = layout_->states[state];
        if (of.n_floats != 0) {
            if (n_computed_ == 0) continue;
            const uint32_t n = number_of(sizeof(float), of.n_floats);
            current_ = {StateChunk::Kind::recurrent, state, 0, n, n * sizeof(float)};
            return;
        }
        const uint32_t first = first_visible_position(n_computed_, of.window);
        if (first == n_computed_) continue;
        const uint32_t n = number_of(of.bytes_per_token, n_computed_ - first);
        current_ = {StateChunk::Kind::keys_and_values, state, first, n, n * of.bytes_per_token};
        return;
    }
    current_ = {StateChunk::Kind::end, 0, 0, 0, 0};
}

uint32_t StateChunks::end() const {
    if (current_.kind == StateChunk::Kind::tokens) return n_tokens_;
    return current_.kind == StateChunk::Kind::recurrent ? layout_->states[current_.state].n_floats
                                                        : n_computed_;
}

uint64_t StateChunks::bytes_each() const {
    if (current_.kind == StateChunk::Kind::tokens) return kTokenBytes;
    return current_.kind == StateChunk::Kind::recurrent ? sizeof(float)
                                                        : layout_->states[current_.state].bytes_per_token;
}

void StateChunks::next() {
    if (current_.kind == StateChunk::Kind::end) return;
    const bool tokens = current_.kind == StateChunk::Kind::tokens;
    current_.first += current_.number;
    if (current_.first == end()) return begin_state(tokens ? 0 : current_.state + 1);
    current_.number = number_of(bytes_each(), end() - current_.first);
    current_.bytes = current_.number * bytes_each();
}

size_t StateChunks::largest_bytes() const {
    uint64_t bytes = number_of(kTokenBytes, n_tokens_) * kTokenBytes;
    for (const StateLayout::State& state : layout_->states) {
        const uint64_t each = state.n_floats != 0 ? sizeof(float) : state.bytes_per_token;
        const uint32_t number = state.n_floats != 0 ? state.n_floats : n_computed_;
        bytes = std::max(bytes, number_of(each, number) * each);
    }
    return static_cast<size_t>(kChunkHeadBytes + bytes);
}

uint64_t state_bytes(const StateLayout& layout, uint32_t n_tokens, uint32_t n_computed) {
    uint64_t bytes = sizeof(StateHeader) + sizeof(StateRow) * layout.states.size();
    StateChunks chunks(layout, n_tokens, n_computed);
    for (; chunks.current().kind != StateChunk::Kind::end; chunks.next())
        bytes += kChunkHeadBytes + chunks.current().bytes;
    return bytes + kChunkHeadBytes;
}

}  // namespace takt
