// A program as fused steps: row-wise ops that run over a block of rows in one go, products that share a
// parallel region, attention.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "program/program.h"

namespace takt::cpu {

// Writes a value's rows in their quantized form, for the products that read it.
struct QuantizeOp {
    ValueId in;
};

using RowOp = std::variant<EmbedOp, PositionEmbedOp, RmsNormOp, LayerNormOp, RopeOp, PositionScaleOp,
                           KvAppendOp, GatedActivationOp, ActivationOp, RouteOp, AddOp, AddWeightOp, ScaleOp,
                           SliceOp, SoftCapOp, SelectRowsOp, QuantizeOp>;

// One parallel region over rows, no barrier between the ops: op k of a row reads nothing but that row.
struct RowStep {
    RowDomain domain = RowDomain::tokens;
    std::vector<RowOp> ops;
    uint64_t floats_per_row = 0;  // written, in all: what a row costs
};

struct Product {
    MatmulOp op;
    bool dense = false;       // reads floats, not the quantized form
    ValueId out;              // of the op, or of the add that was fused into it
    bool accumulate = false;  // out holds the residual already
};

// Products whose inputs are all ready: one parallel region over their panels.
struct ProductStep {
    RowDomain domain = RowDomain::tokens;
    std::vector<Product> products;
};

// Gate and up of one input, the activation and what the next product needs of it, in one parallel region.
struct GatedStep {
    RowDomain domain = RowDomain::tokens;
    Product gate, up;
    GatedActivationOp op;
    bool quantize = false;  // writes the quantized form
    bool store = true;      // writes the floats
};

struct AttentionStep {
    AttentionOp op;
    bool quantize = false;
};

// Rows gathered by expert, each expert's products, and the rows' sums.
struct ExpertStep {
    RowDomain domain = RowDomain::tokens;
    ExpertFfnOp op;
    bool dense_in = false, dense_down = false;  // the products read floats, not the quantized form
};

using Step = std::variant<RowStep, ProductStep, GatedStep, AttentionStep, ExpertStep>;

constexpr uint32_t kNoSlot = ~0u;

struct StepPlan {
    struct Slot {
        RowDomain domain = RowDomain::tokens;
        uint32_t width = 0;   // of its widest value
        bool output = false;  // hidden or logits: its alone, rows without gaps
    };
    std::vector<Step> steps;
    std::vector<Slot> slots, quantized_slots;
    std::vector<uint32_t> slot;            // by value, kNoSlot if its floats are never stored
    std::vector<uint32_t> quantized_slot;  // by value, kNoSlot if it has no quantized form
};

// The program must have passed check_program().
StepPlan make_step_plan(const Program& program);

}  // namespace takt::cpu
