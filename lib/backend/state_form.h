// How keys and values of a layer look outside a device: what Executable::read_state() gives and write_state()
// takes, the same for every backend, page size and page table.
//
// A range of positions is all its keys, then all its values: [position][kv head][dim], keys after RoPE. The
// elements are those of the pages: f32, f16, or q8_0 as GGUF's blocks of 32 along a head's dimensions
// (BlockQ8_0), so that a copy never rounds. Little-endian; no alignment is asked.
//
// A recurrent state is its float32 in the order that its op defines (program/op.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "backend/step_batch.h"
#include "base/status.h"
#include "program/program.h"
#include "tensor/dtype.h"

namespace takt {

// Of one position, all heads. The program and the type have passed check_compile_options().
uint64_t key_bytes_per_token(const KvStateDecl& state, DType dtype);
uint64_t value_bytes_per_token(const KvStateDecl& state, DType dtype);
uint64_t state_bytes_per_token(const KvStateDecl& state, DType dtype);

// A range of one layer's state, as read_state() and write_state() are asked for.
struct StateRange {
    StateId state;
    BlockTable table;  // that of the state's group
    uint32_t first_position = 0, n_positions = 0;
};

// Floats [first, first + number) of one recurrent state in one slot, as read_recurrent() and
// write_recurrent() are asked for.
struct RecurrentRange {
    RecurrentStateId state;
    uint32_t slot = 0;
    uint32_t first = 0, number = 0;
};
Status check_recurrent_range(const Program& program, const CompileOptions& options,
                             const RecurrentRange& range, uint64_t n_bytes);

// What both calls must check: the state exists, the positions lie in the context, the table holds a page for
// each, and the bytes are as many as they take.
Status check_state_range(const Program& program, const CompileOptions& options, DType dtype,
                         const StateRange& range, uint64_t n_bytes);

}  // namespace takt
