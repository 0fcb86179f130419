// Operands of every op.
#include "program/operands.h"

namespace takt {
namespace {

Operands unary(ValueId in, ValueId out) {
    return {{in, {}, {}}, 1, out};
}
Operands binary(ValueId a, ValueId b, ValueId out) {
    return {{a, b, {}}, 2, out};
}

struct OperandsOf {
    Operands operator()(const EmbedOp& op) const { return {{}, 0, op.out}; }
    Operands operator()(const PositionEmbedOp& op) const { return {{}, 0, op.out}; }
    Operands operator()(const RmsNormOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const LayerNormOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const MatmulOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const RopeOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const PositionScaleOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const KvAppendOp& op) const { return binary(op.keys, op.values, {}); }
    Operands operator()(const AttentionOp& op) const { return unary(op.query, op.out); }
    Operands operator()(const ShortConvOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const GatedRecurrenceOp& op) const { return binary(op.gate, op.in, op.out); }
    Operands operator()(const GatedDeltaOp& op) const { return {{op.qkv, op.decay, op.beta}, 3, op.out}; }
    Operands operator()(const GatedActivationOp& op) const { return binary(op.gate, op.up, op.out); }
    Operands operator()(const ActivationOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const RouteOp& op) const { return unary(op.logits, op.out); }
    Operands operator()(const ExpertFfnOp& op) const { return binary(op.in, op.routes, op.out); }
    Operands operator()(const AddOp& op) const { return binary(op.a, op.b, op.out); }
    Operands operator()(const AddWeightOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const ScaleOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const SliceOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const SoftCapOp& op) const { return unary(op.in, op.out); }
    Operands operator()(const SelectRowsOp& op) const { return unary(op.in, op.out); }
};

}  // namespace

Operands operands(const Op& op) {
    return std::visit(OperandsOf{}, op);
}

}  // namespace takt
