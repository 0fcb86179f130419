// Names of the ops, for messages and the printer.
#include "program/op.h"

namespace takt {
namespace {

struct NameOf {
    std::string_view operator()(const EmbedOp&) const { return "embed"; }
    std::string_view operator()(const PositionEmbedOp&) const { return "position_embed"; }
    std::string_view operator()(const RmsNormOp&) const { return "rms_norm"; }
    std::string_view operator()(const LayerNormOp&) const { return "layer_norm"; }
    std::string_view operator()(const MatmulOp&) const { return "matmul"; }
    std::string_view operator()(const RopeOp&) const { return "rope"; }
    std::string_view operator()(const PositionScaleOp&) const { return "position_scale"; }
    std::string_view operator()(const KvAppendOp&) const { return "kv_append"; }
    std::string_view operator()(const AttentionOp&) const { return "attention"; }
    std::string_view operator()(const ShortConvOp&) const { return "short_conv"; }
    std::string_view operator()(const GatedRecurrenceOp&) const { return "gated_recurrence"; }
    std::string_view operator()(const GatedDeltaOp&) const { return "gated_delta"; }
    std::string_view operator()(const GatedActivationOp&) const { return "gated_activation"; }
    std::string_view operator()(const ActivationOp&) const { return "activation"; }
    std::string_view operator()(const RouteOp&) const { return "route"; }
    std::string_view operator()(const ExpertFfnOp&) const { return "expert_ffn"; }
    std::string_view operator()(const AddOp&) const { return "add"; }
    std::string_view operator()(const AddWeightOp&) const { return "add_weight"; }
    std::string_view operator()(const ScaleOp&) const { return "scale"; }
    std::string_view operator()(const SliceOp&) const { return "slice"; }
    std::string_view operator()(const SoftCapOp&) const { return "soft_cap"; }
    std::string_view operator()(const SelectRowsOp&) const { return "select_rows"; }
};

}  // namespace

std::string_view op_name(const Op& op) {
    return std::visit(NameOf{}, op);
}

std::string_view activation_name(Activation activation) {
    switch (activation) {
        case Activation::silu:
            return "silu";
        case Activation::gelu_tanh:
            return "gelu_tanh";
        case Activation::gelu:
            return "gelu";
        case Activation::sigmoid:
            return "sigmoid";
        case Activation::none:
            return "none";
        case Activation::swiglu_clamped:
            return "swiglu_clamped";
    }
    return "";
}

}  // namespace takt
