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

    void declarations();
    void op(const Op& op);

    void inputs(const EmbedOp& o) { add("{}", name(o.table)); }
    void inputs(const RmsNormOp& o) { add("{}, {}, epsilon {}", name(o.in), name(o.weight), o.epsilon); }
    void inputs(const MatmulOp& o) {
        add("{}, {}", name(o.in), name(o.weight));
        if (o.bias.valid()) add(", bias {}", name(o.bias));
    }
    void inputs(const RopeOp& o) {
        add("{}, {} {} of {}, base {}, scale {}", name(o.in),
            o.style == RopeStyle::neox ? "neox" : "interleaved", o.rotated_dim, o.head_dim, o.base,
            o.frequency_scale);
        if (o.factors.valid()) add(", factors {}", name(o.factors));
    }
    void inputs(const KvAppendOp& o) {
        add("{}, keys {}, values {}", name(o.state), name(o.keys), name(o.values));
    }
    void inputs(const AttentionOp& o) {
        add("{}, {}, {} heads, scale {}", name(o.query), name(o.state), o.n_heads, o.scale);
        if (o.soft_cap != 0) add(", soft cap {}", o.soft_cap);
    }
    void inputs(const ShortConvOp& o) { add("{}, {}, {}", name(o.in), name(o.weight), name(o.state)); }
    void inputs(const GatedRecurrenceOp& o) {
        add("{}, {}, gate {}", name(o.in), name(o.state), name(o.gate));
    }
    void inputs(const GatedActivationOp& o) {
        add("{}, {}, {}", name(o.gate), name(o.up), o.activation == Activation::silu ? "silu" : "gelu_tanh");
    }
    void inputs(const AddOp& o) { add("{}, {}", name(o.a), name(o.b)); }
    void inputs(const ScaleOp& o) { add("{}, factor {}", name(o.in), o.factor); }
    void inputs(const SoftCapOp& o) { add("{}, cap {}", name(o.in), o.cap); }
    void inputs(const SelectRowsOp& o) { add("{}", name(o.in)); }
};

void Printer::declarations() {
    add("program {}, vocabulary {}\n", program.family, program.vocab_size);
    for (const WeightDecl& weight : program.weights) {
        add("weight {} {} [{}, {}]\n", weight.name, dtype_info(weight.dtype).name, weight.rows,
            weight.columns);
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
