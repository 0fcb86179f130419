// Values are named as the family's recipe names them, without their layer.
#include "cpu/step_names.h"

#include <fmt/format.h>

#include "program/op.h"

namespace takt::cpu {
namespace {

// "blk.12.q" is "q": what follows the number.
std::string_view without_layer(std::string_view name) {
    constexpr std::string_view kDigits = "0123456789";
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return name;
    const size_t end = name.find_first_not_of(kDigits, dot + 1);
    if (end == dot + 1 || end == std::string_view::npos || name[end] != '.') return name;
    return name.substr(end + 1);
}

struct Describe {
    const Program& program;
    uint32_t n_token_rows, n_output_rows;
    PartTime part;

    std::string_view name_of(ValueId value) const { return without_layer(program.value(value).name); }

    void add_text(std::string_view text) {
        if (!part.name.empty()) part.name += ", ";
        part.name += text;
    }
    void add(const Product& product) {
        const WeightDecl& weight = program.weight(product.op.weight);
        add_text(fmt::format("{} {} {}x{}", name_of(product.op.out), dtype_info(weight.dtype).name,
                             weight.rows, weight.columns));
        part.products.push_back({weight.rows, weight.columns});
    }
    void add(const QuantizeOp& op) { add_text(fmt::format("quantize {}", name_of(op.in))); }
    template <typename O>
    void add(const O& op) {
        add_text(op_name(Op(op)));
    }

    void set_rows(RowDomain domain) {
        part.n_rows = domain == RowDomain::tokens ? n_token_rows : n_output_rows;
    }

    void operator()(const RowStep& step) {
        set_rows(step.domain);
        for (const RowOp& op : step.ops) std::visit([this](const auto& o) { add(o); }, op);
    }
    void operator()(const ProductStep& step) {
        set_rows(step.domain);
        for (const Product& product : step.products) add(product);
    }
    void operator()(const GatedStep& step) {
        set_rows(step.domain);
        add(step.gate);
        add(step.up);
        add_text(op_name(Op(step.op)));
    }
    void operator()(const AttentionStep& step) {
        const KvStateDecl& state = program.state(step.op.state);
        set_rows(RowDomain::tokens);
        add_text(fmt::format("attention {}", program.groups[state.group].name));
    }
    void operator()(const ExpertStep& step) {
        const WeightDecl& gate = program.weight(step.op.gate);
        set_rows(step.domain);
        add_text(fmt::format("{} {} {} of {}", name_of(step.op.out), dtype_info(gate.dtype).name,
                             program.value(step.op.routes).width / 2, step.op.n_experts));
    }
};

}  // namespace

PartTime describe_step(const Program& program, const Step& step, uint32_t n_token_rows,
                       uint32_t n_output_rows) {
    Describe describe{program, n_token_rows, n_output_rows, {}};
    std::visit(describe, step);
    return std::move(describe.part);
}

}  // namespace takt::cpu
