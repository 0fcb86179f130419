// Names of the ops, for messages and the printer.
#include "program/op.h"

namespace takt {
namespace {

struct NameOf {
    std::string_view operator()(const EmbedOp&) const { return "embed"; }
    std::string_view operator()(const RmsNormOp&) const { return "rms_norm"; }
    std::string_view operator()(const MatmulOp&) const { return "matmul"; }
    std::string_view operator()(const RopeOp&) const { return "rope"; }
    std::string_view operator()(const KvAppendOp&) const { return "kv_append"; }
    std::string_view operator()(const AttentionOp&) const { return "attention"; }
    std::string_view operator()(const ShortConvOp&) const { return "short_conv"; }
    std::string_view operator()(const GatedRecurrenceOp&) const { return "gated_recurrence"; }
    std::string_view operator()(const GatedActivationOp&) const { return "gated_activation"; }
    std::string_view operator()(const AddOp&) const { return "add"; }
    std::string_view operator()(const ScaleOp&) const { return "scale"; }
    std::string_view operator()(const SoftCapOp&) const { return "soft_cap"; }
    std::string_view operator()(const SelectRowsOp&) const { return "select_rows"; }
};

}  // namespace

std::string_view op_name(const Op& op) {
    return std::visit(NameOf{}, op);
}

}  // namespace takt
