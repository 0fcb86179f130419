// Sends one sequence's state through a callback, a chunk at a time: a few hundred KB of memory, however long
// the sequence.
//
// In one go, on the thread that may use the executable:
//
//   writer.begin(sequence);                  header and tokens; needs no executable
//   writer.write_rest(executable, tables);
//
// Or so that a slow callback never holds up the engine:
//
//   writer.begin(sequence);
//   while (!writer.done()) {
//       writer.fill(executable, tables);     between two steps, on the thread that may use the executable
//       writer.send();                       on any thread, at any pace
//   }
//   writer.finish();
//
// Every call may fail, and then the export is over. Meanwhile the pages that hold the n_computed first
// positions, of a window group those that a row at n_computed can see, must stay as they are: the sequence
// may be computed on, but its pages not be given back. A slot of recurrent state must stay as it is, too; the
// sequence goes on in another one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/step_batch.h"
#include "base/status.h"
#include "state/state_format.h"

namespace takt {

class StateWriter {
public:
    // The layout outlives this.
    StateWriter(const StateLayout& layout, WriteBytes write);

    // invalid_argument for numbers that contradict each other. The ids are not needed afterwards.
    Status begin(const SequenceTokens& sequence);
    bool done() const { return chunks_.current().kind == StateChunk::Kind::end; }
    // tables: one per state group of the program.
    Status fill(Executable& executable, std::span<const BlockTable> tables);
    Status send();
    Status finish() { return send(); }
    Status write_rest(Executable& executable, std::span<const BlockTable> tables);

    // From begin() on: of the whole, and of it sent so far.
    uint64_t total_bytes() const { return total_bytes_; }
    uint64_t sent_bytes() const { return sent_bytes_; }

private:
    Status give(std::span<const std::byte> bytes);
    std::span<std::byte> payload() {
        return std::span(buffer_).subspan(kChunkHeadBytes, static_cast<size_t>(chunks_.current().bytes));
    }

    const StateLayout& layout_;
    WriteBytes write_;
    StateChunks chunks_;
    uint64_t checksum_ = 0, total_bytes_ = 0, sent_bytes_ = 0;
    std::vector<std::byte> buffer_;  // one chunk, head first
};

}  // namespace takt
