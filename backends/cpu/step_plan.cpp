// List scheduling: row-wise ops as soon as they are ready, then every ready product at once, then attention.
#include "cpu/step_plan.h"

#include <algorithm>
#include <optional>

#include "cpu/step_slots.h"
#include "program/operands.h"

namespace takt::cpu {
namespace {

constexpr uint32_t kNone = ~0u;

template <typename T>
bool is(const Op& op) {
    return std::holds_alternative<T>(op);
}

class Planner {
public:
    explicit Planner(const Program& program)
        : program_(program),
          n_ops_(static_cast<uint32_t>(program.ops.size())),
          readers_(program.values.size()),
          writer_(program.values.size(), kNone),
          home_(program.values.size()),
          quantized_(program.values.size(), false),
          done_(n_ops_, false),
          swallows_(n_ops_, kNone),
          swallowed_(n_ops_, false) {}

    StepPlan plan() {
        find_readers();
        for (uint32_t i = 0; i < n_ops_; ++i) {
            fuse_residual(i);
            fuse_gate(i);
            work_in_place(i);
        }
        while (take_row_ops() || take_gated() || take_products() || take_attention() || take_experts()) {
        }
        assign_slots(program_, home_, plan_);
        return std::move(plan_);
    }

private:
    void find_readers();
    void fuse_residual(uint32_t add_index);
    void fuse_gate(uint32_t gated_index);
    void work_in_place(uint32_t i);

    bool take_row_ops();
    bool take_gated();
    bool take_products();
    bool take_attention();
    bool take_experts();

    bool is_output(ValueId value) const { return value == program_.hidden || value == program_.logits; }
    // The product that writes a value which `reader` alone reads; kNone if there is none.
    uint32_t private_product(ValueId value) const {
        const uint32_t writer = writer_[value.index];
        const bool fits =
            writer != kNone && is<MatmulOp>(program_.ops[writer]) && readers_[value.index].size() == 1;
        return fits && !is_output(value) && swallows_[writer] == kNone ? writer : kNone;
    }
    // Whether anyone needs more of the value than its quantized form.
    bool reads_floats(ValueId value) const {
        return is_output(value) || std::ranges::any_of(readers_[value.index], [&](uint32_t reader) {
                   const auto* product = std::get_if<MatmulOp>(&program_.ops[reader]);
                   if (const auto* experts = std::get_if<ExpertFfnOp>(&program_.ops[reader]))
                       return experts->routes == value || dense(experts->gate) || dense(experts->up);
                   return !product || !is_block_quantized(program_.weight(product->weight).dtype);
               });
    }
    bool dense(WeightId weight) const { return !is_block_quantized(program_.weight(weight).dtype); }
    bool written(ValueId value) const { return writer_[value.index] == kNone || done_[writer_[value.index]]; }
    bool ready(uint32_t i) const;
    bool appended(StateId state, uint32_t before) const;
    RowDomain domain_of(uint32_t i) const {
        const Operands used = operands(program_.ops[i]);
        return program_.value(used.write.valid() ? used.write : used.reads[0]).domain;
    }

    RowStep& row_step(RowDomain domain);
    Product make_product(uint32_t i) const;
    void quantize(const Product& product, RowDomain domain);
    void quantize(ValueId in, RowDomain domain);
    bool quantized_by_writer(ValueId value);

    const Program& program_;
    uint32_t n_ops_;
    StepPlan plan_;
    std::vector<std::vector<uint32_t>> readers_;  // by value: ops
    std::vector<uint32_t> writer_;                // by value
    std::vector<uint32_t> home_;                  // by value: the value whose buffer it lives in
    std::vector<bool> quantized_;                 // by value
    std::vector<bool> done_;                      // by op
    std::vector<uint32_t> swallows_;  // by product: the add or gated activation that it computes too
    std::vector<bool> swallowed_;     // by op
};

void Planner::find_readers() {
    for (uint32_t i = 0; i < n_ops_; ++i) {
        const Operands used = operands(program_.ops[i]);
        for (const ValueId value : used.read_values()) readers_[value.index].push_back(i);
        if (used.write.valid()) writer_[used.write.index] = i;
    }
    for (uint32_t i = 0; i < home_.size(); ++i) home_[i] = i;
}

// a + weight * in, where nobody else reads the product and nobody reads the residual later: the product adds
// into the residual's own buffer.
void Planner::fuse_residual(uint32_t add_index) {
    const auto* add = std::get_if<AddOp>(&program_.ops[add_index]);
    if (!add) return;
    for (const auto& [product, residual] : {std::pair(add->b, add->a), std::pair(add->a, add->b)}) {
        const uint32_t writer = private_product(product);
        if (writer == kNone || product == residual || is_output(residual)) continue;
        if (std::get<MatmulOp>(program_.ops[writer]).in == residual) continue;
        if (readers_[residual.index].back() != add_index || writer_[residual.index] > writer) continue;
        swallows_[writer] = add_index;
        swallowed_[add_index] = true;
        home_[add->out.index] = home_[residual.index];
        return;
    }
}

void Planner::fuse_gate(uint32_t gated_index) {
    const auto* gated = std::get_if<GatedActivationOp>(&program_.ops[gated_index]);
    if (!gated || gated->gate == gated->up) return;
    if (program_.value(gated->gate).width != program_.value(gated->up).width) return;
    const uint32_t gate = private_product(gated->gate), up = private_product(gated->up);
    if (gate == kNone || up == kNone) return;
    if (!(std::get<MatmulOp>(program_.ops[gate]).in == std::get<MatmulOp>(program_.ops[up]).in)) return;
    swallows_[gate] = swallows_[up] = gated_index;
    swallowed_[gated_index] = true;
}

// An op that reads a value nobody else reads may write over it.
void Planner::work_in_place(uint32_t i) {
    const Op& op = program_.ops[i];
    if (!is<RopeOp>(op) && !is<ScaleOp>(op) && !is<SoftCapOp>(op) && !is<RmsNormOp>(op)) return;
    const Operands used = operands(op);
    const ValueId in = used.reads[0];
    if (readers_[in.index].size() == 1 && !is_output(in)) home_[used.write.index] = home_[in.index];
}

bool Planner::ready(uint32_t i) const {
    if (done_[i] || swallowed_[i]) return false;
    const Operands used = operands(program_.ops[i]);
    for (const ValueId value : used.read_values()) {
        if (!written(value)) return false;
    }
    if (const auto* attention = std::get_if<AttentionOp>(&program_.ops[i]))
        return appended(attention->state, i);
    if (swallows_[i] == kNone || !is<AddOp>(program_.ops[swallows_[i]])) return true;
    // The residual must be there, and all that read it before.
    const Operands add = operands(program_.ops[swallows_[i]]);
    for (const ValueId value : add.read_values()) {
        if (writer_[value.index] == i) continue;
        if (!written(value)) return false;
        for (const uint32_t reader : readers_[value.index]) {
            if (reader != swallows_[i] && !done_[reader]) return false;
        }
    }
    return true;
}

bool Planner::appended(StateId state, uint32_t before) const {
    for (uint32_t i = 0; i < before; ++i) {
        const auto* append = std::get_if<KvAppendOp>(&program_.ops[i]);
        if (append && append->state == state && !done_[i]) return false;
    }
    return true;
}

RowStep& Planner::row_step(RowDomain domain) {
    if (!plan_.steps.empty()) {
        if (auto* last = std::get_if<RowStep>(&plan_.steps.back()); last && last->domain == domain)
            return *last;
    }
    plan_.steps.emplace_back(RowStep{domain, {}, 0});
    return std::get<RowStep>(plan_.steps.back());
}

bool Planner::take_row_ops() {
    bool found = false;
    for (uint32_t i = 0; i < n_ops_; ++i) {
        const Op& op = program_.ops[i];
        if (is<MatmulOp>(op) || is<AttentionOp>(op) || is<ExpertFfnOp>(op) || !ready(i)) continue;
        RowStep& step = row_step(domain_of(i));
        const Operands used = operands(op);
        step.floats_per_row += program_.value(used.write.valid() ? used.write : used.reads[0]).width;
        std::visit(
            [&](const auto& row_op) {
                if constexpr (std::is_constructible_v<RowOp, decltype(row_op)>) step.ops.emplace_back(row_op);
            },
            op);
        done_[i] = found = true;
    }
    return found;
}

Product Planner::make_product(uint32_t i) const {
    Product product;
    product.op = std::get<MatmulOp>(program_.ops[i]);
    product.dense = !is_block_quantized(program_.weight(product.op.weight).dtype);
    product.out = product.op.out;
    if (swallows_[i] != kNone && is<AddOp>(program_.ops[swallows_[i]])) {
        product.accumulate = true;
        product.out = operands(program_.ops[swallows_[i]]).write;
    }
    return product;
}

// Whether the step that writes the value was told to write the quantized form too.
bool Planner::quantized_by_writer(ValueId value) {
    for (Step& step : plan_.steps) {
        if (auto* gated = std::get_if<GatedStep>(&step); gated && gated->op.out == value)
            return gated->quantize = true;
        if (auto* attention = std::get_if<AttentionStep>(&step); attention && attention->op.out == value) {
            // A task writes the outputs of the heads that share keys: whole blocks of 32, or none of its
            // business.
            const KvStateDecl& state = program_.state(attention->op.state);
            attention->quantize = attention->op.n_heads / state.n_kv_heads * state.value_dim % 32 == 0;
            return attention->quantize;
        }
    }
    return false;
}

void Planner::quantize(const Product& product, RowDomain domain) {
    if (!product.dense) quantize(product.op.in, domain);
}

void Planner::quantize(ValueId in, RowDomain domain) {
    if (quantized_[in.index]) return;
    quantized_[in.index] = true;
    if (quantized_by_writer(in)) return;
    RowStep& step = row_step(domain);
    step.ops.emplace_back(QuantizeOp{in});
    step.floats_per_row += program_.value(in).width;
}

bool Planner::take_gated() {
    for (uint32_t i = 0; i < n_ops_; ++i) {
        const auto* op = std::get_if<GatedActivationOp>(&program_.ops[i]);
        if (!op || done_[i] || !swallowed_[i]) continue;
        const uint32_t gate = writer_[op->gate.index], up = writer_[op->up.index];
        if (!ready(gate) || !ready(up)) continue;
        GatedStep step{domain_of(i), make_product(gate), make_product(up), *op, false, reads_floats(op->out)};
        quantize(step.gate, step.domain);
        quantize(step.up, step.domain);
        plan_.steps.emplace_back(step);
        done_[i] = done_[gate] = done_[up] = true;
        return true;
    }
    return false;
}

bool Planner::take_products() {
    ProductStep step;
    std::vector<uint32_t> taken;
    for (uint32_t i = 0; i < n_ops_; ++i) {
        if (!is<MatmulOp>(program_.ops[i]) || !ready(i)) continue;
        if (swallows_[i] != kNone && is<GatedActivationOp>(program_.ops[swallows_[i]])) continue;
        if (!taken.empty() && domain_of(i) != step.domain) continue;
        step.domain = domain_of(i);
        step.products.push_back(make_product(i));
        taken.push_back(i);
    }
    if (taken.empty()) return false;
    for (const Product& product : step.products) quantize(product, step.domain);
    plan_.steps.emplace_back(std::move(step));
    for (const uint32_t i : taken) {
        done_[i] = true;
        if (swallows_[i] != kNone) done_[swallows_[i]] = true;
    }
    return true;
}

bool Planner::take_attention() {
    for (uint32_t i = 0; i < n_ops_; ++i) {
        if (!is<AttentionOp>(program_.ops[i]) || !ready(i)) continue;
        plan_.steps.emplace_back(AttentionStep{std::get<AttentionOp>(program_.ops[i]), false});
        return done_[i] = true;
    }
    return false;
}

bool Planner::take_experts() {
    for (uint32_t i = 0; i < n_ops_; ++i) {
        const auto* op = std::get_if<ExpertFfnOp>(&program_.ops[i]);
        if (!op || !ready(i)) continue;
        const ExpertStep step{domain_of(i), *op, dense(op->gate), dense(op->down)};
        if (!step.dense_in) quantize(op->in, step.domain);
        plan_.steps.emplace_back(step);
        return done_[i] = true;
    }
    return false;
}

}  // namespace

StepPlan make_step_plan(const Program& program) {
    return Planner(program).plan();
}

}  // namespace takt::cpu
