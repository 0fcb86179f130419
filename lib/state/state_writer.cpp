// Header, then chunk after chunk from one buffer.
#include "state/state_writer.h"

#include <cstring>

#include <fmt/format.h>

#include "backend/state_form.h"

namespace takt {
namespace {

Status check_sequence(const StateLayout& layout, const SequenceTokens& sequence) {
    const size_t n = sequence.ids.size();
    if (n != 0 && n <= UINT32_MAX && sequence.n_prompt <= n && sequence.n_computed <= n) {
        for (size_t i = 0; i < n; ++i) {
            const int32_t id = sequence.ids[i];
            if (id >= 0 && static_cast<uint32_t>(id) < layout.vocab_size) continue;
            return Status(StatusCode::invalid_argument,
                          fmt::format("Token {} of the sequence is {}, the vocabulary has {}.", i, id,
                                      layout.vocab_size));
        }
        return {};
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("A sequence of {} tokens, {} of the prompt and {} computed, can't be exported.",
                              n, sequence.n_prompt, sequence.n_computed));
}

}  // namespace

StateWriter::StateWriter(const StateLayout& layout, WriteBytes write)
    : layout_(layout), write_(std::move(write)), chunks_(layout, 0, 0) {}

Status StateWriter::begin(const SequenceTokens& sequence) {
    TAKT_RETURN_IF_ERROR(check_sequence(layout_, sequence));
    StateHeader header = header_of(layout_, sequence);
    total_bytes_ = header.total_bytes;
    sent_bytes_ = 0;
    chunks_ = StateChunks(layout_, header.n_tokens, header.n_computed);
    buffer_.resize(std::max<size_t>(header.header_bytes, chunks_.largest_bytes()));
    for (size_t i = 0; i < layout_.states.size(); ++i) {
        const StateRow row = row_of(layout_.states[i]);
        std::memcpy(buffer_.data() + sizeof header + i * sizeof row, &row, sizeof row);
    }
    std::memcpy(buffer_.data(), &header, sizeof header);
    const std::span<const std::byte> whole = std::span(buffer_).first(header.header_bytes);
    header.checksum = checksum_ = header_checksum(whole);
    std::memcpy(buffer_.data(), &header, sizeof header);
    TAKT_RETURN_IF_ERROR(give(whole));
    while (chunks_.current().kind == StateChunk::Kind::tokens) {
        std::memcpy(payload().data(), sequence.ids.data() + chunks_.current().first, payload().size());
        TAKT_RETURN_IF_ERROR(send());
    }
    return {};
}

Status StateWriter::fill(Executable& executable, std::span<const BlockTable> tables) {
    const StateChunk& chunk = chunks_.current();
    const StateLayout::State& state = layout_.states[chunk.state];
    const Result<BlockTable> table = table_of(state, tables);
    if (!table.ok()) return table.status();
    if (chunk.kind == StateChunk::Kind::keys_and_values)
        return executable.read_state({{state.index}, *table, chunk.first, chunk.number}, payload());
    return executable.read_recurrent({{state.index}, slot_of(*table), chunk.first, chunk.number}, payload());
}

Status StateWriter::send() {
    const StateChunk chunk = chunks_.current();
    checksum_ = chunk_checksum(chunk, payload(), checksum_);
    std::memcpy(buffer_.data(), &chunk, sizeof chunk);
    std::memcpy(buffer_.data() + sizeof chunk, &checksum_, sizeof checksum_);
    TAKT_RETURN_IF_ERROR(give(std::span(buffer_).first(kChunkHeadBytes + payload().size())));
    chunks_.next();
    return {};
}

Status StateWriter::write_rest(Executable& executable, std::span<const BlockTable> tables) {
    while (!done()) {
        TAKT_RETURN_IF_ERROR(fill(executable, tables));
        TAKT_RETURN_IF_ERROR(send());
    }
    return finish();
}

Status StateWriter::give(std::span<const std::byte> bytes) {
    if (write_(bytes)) {
        sent_bytes_ += bytes.size();
        return {};
    }
    return Status(StatusCode::cancelled,
                  fmt::format("The export was stopped: {} bytes from byte {} of {} on were not taken.",
                              bytes.size(), sent_bytes_, total_bytes_));
}

}  // namespace takt
