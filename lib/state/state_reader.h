// Takes one sequence's state from a callback, a chunk at a time, and checks every byte before it is used.
//
//   reader.begin(max_tokens);                header and tokens; then sequence() says what pages it needs:
//                                            positions [0, n_computed), of a window group those that a row at
//                                            n_computed can see
//   reader.read_rest(executable, tables);    on the thread that may use the executable
//
// Or so that a slow callback never holds up the engine:
//
//   reader.begin(max_tokens);
//   while (!reader.done()) {
//       reader.receive();                    on any thread, at any pace: a chunk comes and is checked
//       reader.store(executable, tables);    between two steps, on the thread that may use the executable
//   }
//   reader.finish();                         the end mark
//
// Then rows from n_computed on may be fed. Every call may fail, and then the import is over: pages go back,
// and what they hold means nothing. state_mismatch: a sound state, but of another model, layout or version.
// state_corrupt: not a state, cut or changed. prompt_too_long: more tokens than max_tokens.
//
// A state ends with its mark, and a socket may go on with something else. Who knows that nothing else is due
// (a file, memory) also calls check_nothing_follows(), which asks for one byte more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/step_batch.h"
#include "base/status.h"
#include "state/state_format.h"

namespace takt {

class StateReader {
public:
    // The layout outlives this.
    StateReader(const StateLayout& layout, ReadBytes read);

    Status begin(uint32_t max_tokens);
    // Borrowed from this.
    SequenceTokens sequence() const { return {ids_, header_.n_prompt, header_.n_computed}; }
    bool done() const { return chunks_.current().kind == StateChunk::Kind::end; }
    Status receive();
    // tables: one per state group of the program.
    Status store(Executable& executable, std::span<const BlockTable> tables);
    Status finish() { return receive(); }
    Status read_rest(Executable& executable, std::span<const BlockTable> tables);
    Status check_nothing_follows();

    // From begin() on: of the whole, and of it read so far.
    uint64_t total_bytes() const { return header_.total_bytes; }
    uint64_t read_bytes() const { return read_bytes_; }

private:
    Status take(std::span<std::byte> out);
    Status read_header();
    Status check_layout(std::span<const std::byte> table) const;
    Status check_numbers(uint32_t max_tokens) const;
    Status read_ids();
    std::string what_is_due() const;
    std::span<std::byte> payload() {
        return std::span(buffer_).subspan(kChunkHeadBytes, static_cast<size_t>(chunks_.current().bytes));
    }

    const StateLayout& layout_;
    ReadBytes read_;
    StateHeader header_{};
    std::vector<int32_t> ids_;
    StateChunks chunks_;
    uint64_t checksum_ = 0, read_bytes_ = 0;
    std::vector<std::byte> buffer_;  // one chunk, head first
};

}  // namespace takt
