// A model family as data: values, ops in order, the weights it names and the states it keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/op.h"
#include "tensor/dtype.h"

namespace takt {

enum class RowDomain : uint8_t { tokens, outputs };

struct ValueDecl {
    std::string name;    // "blk.0.q"
    uint32_t width = 0;  // floats per row
    RowDomain domain = RowDomain::tokens;
};

// Which rows of a file's tensor a weight is: runs of run_rows rows, run_stride apart, the first at first_row.
// So one tensor can hold queries, keys and values, or gate and up of every expert.
struct RowRuns {
    uint32_t first_row = 0;
    uint32_t run_rows = 0;  // 0: one run of all
    uint32_t run_stride = 0;

    bool operator==(const RowRuns&) const = default;
    uint64_t file_row(uint32_t row) const {
        return run_rows == 0 ? uint64_t{first_row} + row
                             : first_row + uint64_t{row / run_rows} * run_stride + row % run_rows;
    }
    // Rows from `row` on that lie together.
    uint32_t together(uint32_t row) const { return run_rows == 0 ? ~0u : run_rows - row % run_rows; }
};

// Rows of a tensor, which may hold more: an embedding or head padded beyond the vocabulary is declared with
// vocab_size rows, so padded rows are never read, computed or sampled.
struct WeightDecl {
    std::string name;  // as in the file: "blk.0.attn_q.weight"
    DType dtype{};
    uint32_t rows = 1;     // outputs; 1 for vectors
    uint32_t columns = 0;  // contiguous
    RowRuns runs{};
};

// States that share page geometry and lifetime: one block table per group and sequence.
struct StateGroup {
    std::string name;        // "full", "window", "recurrent"
    uint32_t window = 0;     // 0: every position is kept; else the last `window` positions
    bool recurrent = false;  // holds recurrent states, one slot a sequence instead of pages
};

// Paged keys and values of one layer.
struct KvStateDecl {
    std::string name;  // "blk.0.kv"
    uint32_t group = 0;
    uint32_t n_kv_heads = 0, key_dim = 0, value_dim = 0;
};

// What one layer carries from a position to the next: of each sequence this many float32.
struct RecurrentStateDecl {
    std::string name;  // "blk.0.conv"
    uint32_t group = 0;
    uint32_t n_floats = 0;
};

struct Program {
    std::string family;
    uint32_t vocab_size = 0;
    std::vector<WeightDecl> weights;
    std::vector<ValueDecl> values;
    std::vector<StateGroup> groups;
    std::vector<KvStateDecl> states;
    std::vector<RecurrentStateDecl> recurrent_states;
    std::vector<Op> ops;
    ValueId hidden;  // the row before the head (output domain)
    ValueId logits;  // output domain, width vocab_size

    const ValueDecl& value(ValueId id) const { return values[id.index]; }
    const WeightDecl& weight(WeightId id) const { return weights[id.index]; }
    const KvStateDecl& state(StateId id) const { return states[id.index]; }
    const RecurrentStateDecl& state(RecurrentStateId id) const { return recurrent_states[id.index]; }
};

}  // namespace takt
