// Which form each weight takes follows from the ops that read it.
#include "cpu/weight_layout.h"

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "base/checked_math.h"
#include "cpu/kernels/packed_matrix.h"

namespace takt::cpu {
namespace {

struct MarkUses {
    std::vector<WeightPlace>& places;
    void matrix(WeightId id) const { places[id.index].matrix = true; }
    void vector(WeightId id) const {
        if (id.valid()) places[id.index].vector = true;
    }
    void operator()(const EmbedOp& op) const { matrix(op.table); }
    void operator()(const PositionEmbedOp& op) const { matrix(op.table); }
    void operator()(const RmsNormOp& op) const { vector(op.weight); }
    void operator()(const LayerNormOp& op) const {
        vector(op.weight);
        vector(op.bias);
    }
    void operator()(const AddWeightOp& op) const { vector(op.weight); }
    void operator()(const ScaleOp& op) const { vector(op.by); }
    void operator()(const AttentionOp& op) const { vector(op.sinks); }
    void operator()(const RouteOp& op) const {
        vector(op.selection_bias);
        vector(op.expert_scale);
    }
    void operator()(const ExpertFfnOp& op) const {
        for (const WeightId id : {op.gate, op.up, op.down}) matrix(id);
        for (const WeightId id : {op.gate_bias, op.up_bias, op.down_bias}) vector(id);
    }
    void operator()(const MatmulOp& op) const {
        matrix(op.weight);
        vector(op.bias);
    }
    void operator()(const RopeOp& op) const {
        vector(op.factors);
        vector(op.long_factors);
    }
    void operator()(const auto&) const {}
};

// Gives a part its place; false if the sum doesn't fit.
bool append(uint64_t& total, uint64_t bytes, uint64_t& out_offset) {
    out_offset = total;
    const std::optional<uint64_t> end = checked_add(total, bytes);
    const std::optional<uint64_t> padded = end ? checked_add(*end, kPartAlignment - 1) : std::nullopt;
    if (padded) total = *padded / kPartAlignment * kPartAlignment;
    return padded.has_value();
}

}  // namespace

Result<WeightLayout> layout_weights(const Program& program) {
    WeightLayout layout;
    layout.places.resize(program.weights.size());
    for (const Op& op : program.ops) std::visit(MarkUses{layout.places}, op);
    for (size_t i = 0; i < layout.places.size(); ++i) {
        const WeightDecl& weight = program.weights[i];
        WeightPlace& place = layout.places[i];
        bool fits = true;
        if (place.matrix) {
            const Result<uint64_t> packed =
                PackedMatrix::packed_bytes(weight.dtype, weight.rows, weight.columns);
            if (!packed.ok()) return packed.status().with_context(weight.name);
            fits = append(layout.total_bytes, *packed, place.matrix_offset);
        }
        if (place.vector) {
            const std::optional<uint64_t> bytes =
                checked_mul(uint64_t{weight.rows} * weight.columns, sizeof(float));
            fits = fits && bytes && append(layout.total_bytes, *bytes, place.vector_offset);
        }
        if (!fits) {
            return Status(StatusCode::out_of_memory,
                          fmt::format("The weights up to {} don't fit in memory.", weight.name));
        }
        layout.source_bytes += file_bytes(weight) * (uint64_t{place.matrix} + place.vector);
    }
    return layout;
}

}  // namespace takt::cpu
