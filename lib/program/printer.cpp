// One line a declaration, one line an op: "out [width] = op inputs, parameters".
#include "program/printer.h"

#include <iterator>

#include <fmt/format.h>

#include "program/operands.h"

namespace takt {
namespace {

struct Printer {
    const Program& program;
    std::string text;

    template <typename... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    }
    const std::string& name(ValueId id) const { return program.value(id).name; }
    const std::string& name(WeightId id) const { return program.weight(id).name; }
    const std::string& name(StateId id) const { return program.state(id).name; }
    const std::string& name(RecurrentStateId id) const { return program.state(id).name; }

    void optional(std::string_view role, WeightId id) {
        if (id.valid()) add(", {} {}", role, name(id));
    }

    void declarations();
    void op(const Op& op);

    void inputs(const EmbedOp& o) { add("{}", name(o.table)); }
    void inputs(const PositionEmbedOp& o) { add("{}", name(o.table)); }
    void inputs(const RmsNormOp& o) {
        add("{}, {}, epsilon {}", name(o.in), o.weight.valid() ? name(o.weight) : std::to_string(o.group),
            o.epsilon);
    }
    void inputs(const LayerNormOp& o) {
        add("{}, {}, epsilon {}", name(o.in), name(o.weight), o.epsilon);
        optional("bias", o.bias);
    }
    void inputs(const MatmulOp& o) {
        add("{}, {}", name(o.in), name(o.weight));
        optional("bias", o.bias);
    }
    void inputs(const RopeOp& o) {
        add("{}, {} {} of {}, base {}, scale {}", name(o.in),
            o.style == RopeStyle::neox ? "neox" : "interleaved", o.rotated_dim, o.head_dim, o.base,
            o.frequency_scale);
        optional("factors", o.factors);
        if (o.long_factors.valid()) add(", {} beyond a context of {}", name(o.long_factors), o.short_context);
        if (o.ramp_end > 0) add(", ramp {} to {}", o.ramp_begin, o.ramp_end);
        if (o.magnitude != 1) add(", magnitude {}", o.magnitude);
    }
    void inputs(const PositionScaleOp& o) { add("{}, beta {}, period {}", name(o.in), o.beta, o.period); }
    void inputs(const KvAppendOp& o) {
        add("{}, keys {}, values {}", name(o.state), name(o.keys), name(o.values));
    }
    void inputs(const AttentionOp& o) {
        add("{}, {}, {} heads, scale {}", name(o.query), name(o.state), o.n_heads, o.scale);
        if (o.soft_cap != 0) add(", soft cap {}", o.soft_cap);
        optional("sinks", o.sinks);
        if (o.bidirectional) add(", bidirectional");
    }
    void inputs(const ShortConvOp& o) { add("{}, {}, {}", name(o.in), name(o.weight), name(o.state)); }
    void inputs(const GatedRecurrenceOp& o) {
        add("{}, {}, gate {}", name(o.in), name(o.state), name(o.gate));
    }
    void inputs(const GatedDeltaOp& o) {
        add("{}, {}, decay {}, beta {}, {} key heads of {}, {} value heads of {}, rate {}, decay bias {}, "
            "epsilon {}",
            name(o.qkv), name(o.state), name(o.decay), name(o.beta), o.n_key_heads, o.key_dim,
            o.n_value_heads, o.value_dim, name(o.rate), name(o.decay_bias), o.epsilon);
    }
    void inputs(const GatedActivationOp& o) {
        add("{}, {}, {}", name(o.gate), name(o.up), activation_name(o.activation));
    }
    void inputs(const ActivationOp& o) { add("{}, {}", name(o.in), activation_name(o.activation)); }
    void inputs(const RouteOp& o) {
        add("{}, {} experts by {}", name(o.logits), o.n_used,
            o.scores == RouteScores::softmax ? "softmax" : "sigmoid");
        if (o.normalize) add(", normalized");
        if (o.factor != 1) add(", factor {}", o.factor);
        optional("selection bias", o.selection_bias);
        optional("expert scale", o.expert_scale);
    }
    void inputs(const ExpertFfnOp& o) {
        add("{}, {}, {} experts, {}, {}, {}, {}", name(o.in), name(o.routes), o.n_experts, name(o.gate),
            name(o.up), name(o.down), activation_name(o.activation));
        optional("gate bias", o.gate_bias);
        optional("up bias", o.up_bias);
        optional("down bias", o.down_bias);
    }
    void inputs(const AddOp& o) { add("{}, {}", name(o.a), name(o.b)); }
    void inputs(const AddWeightOp& o) { add("{}, {}", name(o.in), name(o.weight)); }
    void inputs(const ScaleOp& o) {
        add("{}, factor {}", name(o.in), o.factor);
        optional("by", o.by);
    }
    void inputs(const SliceOp& o) { add("{}, from {}", name(o.in), o.first); }
    void inputs(const SoftCapOp& o) { add("{}, cap {}", name(o.in), o.cap); }
    void inputs(const SelectRowsOp& o) { add("{}", name(o.in)); }
};

void Printer::declarations() {
    add("program {}, vocabulary {}\n", program.family, program.vocab_size);
    for (const WeightDecl& weight : program.weights) {
        add("weight {} {} [{}, {}]", weight.name, dtype_info(weight.dtype).name, weight.rows, weight.columns);
        const RowRuns& runs = weight.runs;
        if (runs.run_rows != 0) {
            add(", runs of {} rows from {} on, {} apart", runs.run_rows, runs.first_row, runs.run_stride);
        } else if (runs.first_row != 0) {
            add(", from row {} on", runs.first_row);
        }
        add("\n");
    }
    for (const StateGroup& group : program.groups) {
        if (group.recurrent)
            add("group {}, recurrent\n", group.name);
        else if (group.window == 0)
            add("group {}, every position\n", group.name);
        else
            add("group {}, last {} positions\n", group.name, group.window);
    }
    for (const KvStateDecl& state : program.states) {
        add("state {} in {}, {} heads, keys {}, values {}\n", state.name, program.groups[state.group].name,
            state.n_kv_heads, state.key_dim, state.value_dim);
    }
    for (const RecurrentStateDecl& state : program.recurrent_states) {
        add("state {} in {}, {} floats\n", state.name, program.groups[state.group].name, state.n_floats);
    }
}

void Printer::op(const Op& op) {
    const ValueId out = operands(op).write;
    if (out.valid()) {
        const ValueDecl& value = program.value(out);
        add("{} [{}, {}] = ", value.name, value.domain == RowDomain::tokens ? "tokens" : "outputs",
            value.width);
    }
    add("{} ", op_name(op));
    std::visit([this](const auto& o) { inputs(o); }, op);
    add("\n");
}

}  // namespace

std::string print_program(const Program& program) {
    Printer printer{program, {}};
    printer.declarations();
    for (const Op& op : program.ops) printer.op(op);
    printer.add("hidden {}\nlogits {}\n", printer.name(program.hidden), printer.name(program.logits));
    return std::move(printer.text);
}

}  // namespace takt
