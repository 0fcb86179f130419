// Values live from the step that writes them to the last that reads them; two that never meet share a slot.
#include "cpu/step_slots.h"

#include <algorithm>
#include <utility>

#include "program/operands.h"

namespace takt::cpu {
namespace {

struct Life {
    uint32_t first = ~0u, last = 0;
    bool lived() const { return first != ~0u; }
    void touch(uint32_t step) {
        first = std::min(first, step);
        last = std::max(last, step);
    }
};

// Lives of the float and of the quantized form of each value, by its home.
class Lives {
public:
    Lives(const Program& program, const std::vector<uint32_t>& home)
        : home_(home), floats(program.values.size()), quantized(program.values.size()) {}

    void touch(const RowStep& step, uint32_t index) {
        for (const RowOp& row_op : step.ops) std::visit([&](const auto& op) { touch_op(op, index); }, row_op);
    }
    void touch(const ProductStep& step, uint32_t index) {
        for (const Product& product : step.products) {
            read(product, index);
            of(product.out).touch(index);
        }
    }
    void touch(const GatedStep& step, uint32_t index) {
        read(step.gate, index);
        read(step.up, index);
        if (step.quantize) quantized[step.op.out.index].touch(index);
        if (step.store) of(step.op.out).touch(index);
    }
    void touch(const AttentionStep& step, uint32_t index) {
        of(step.op.query).touch(index);
        of(step.op.out).touch(index);
        if (step.quantize) quantized[step.op.out.index].touch(index);
    }
    void touch(const ExpertStep& step, uint32_t index) {
        if (step.dense_in) {
            of(step.op.in).touch(index);
        } else {
            quantized[step.op.in.index].touch(index);
        }
        of(step.op.routes).touch(index);
        of(step.op.out).touch(index);
    }
    Life& of(ValueId value) { return floats[home_[value.index]]; }

private:
    void read(const Product& product, uint32_t index) {
        if (product.dense) {
            of(product.op.in).touch(index);
        } else {
            quantized[product.op.in.index].touch(index);
        }
    }
    void touch_op(const QuantizeOp& op, uint32_t index) {
        of(op.in).touch(index);
        quantized[op.in.index].touch(index);
    }
    void touch_op(const auto& op, uint32_t index) {
        const Operands used = operands(op);
        for (const ValueId value : used.read_values()) of(value).touch(index);
        if (used.write.valid()) of(used.write).touch(index);
    }

    const std::vector<uint32_t>& home_;

public:
    std::vector<Life> floats, quantized;
};

// First fit, in the order of birth. An output keeps its slot for itself.
std::vector<uint32_t> fit(const Program& program, const std::vector<Life>& lives,
                          const std::vector<bool>& output, std::vector<StepPlan::Slot>& slots) {
    std::vector<uint32_t> order, busy_until, slot_of(lives.size(), kNoSlot);
    for (uint32_t v = 0; v < lives.size(); ++v) {
        if (lives[v].lived()) order.push_back(v);
    }
    std::ranges::sort(order, {}, [&](uint32_t v) { return std::pair(lives[v].first, v); });
    for (const uint32_t v : order) {
        const ValueDecl& decl = program.values[v];
        const auto fits = [&](uint32_t slot) {
            return !output[v] && !slots[slot].output && busy_until[slot] < lives[v].first &&
                   slots[slot].domain == decl.domain;
        };
        uint32_t slot = 0;
        while (slot < slots.size() && !fits(slot)) ++slot;
        if (slot == slots.size()) {
            slots.push_back({decl.domain, 0, output[v]});
            busy_until.push_back(0);
        }
        busy_until[slot] = lives[v].last;
        slots[slot].width = std::max(slots[slot].width, decl.width);
        slot_of[v] = slot;
    }
    return slot_of;
}

}  // namespace

void assign_slots(const Program& program, const std::vector<uint32_t>& home, StepPlan& plan) {
    Lives lives(program, home);
    for (uint32_t s = 0; s < plan.steps.size(); ++s) {
        std::visit([&](const auto& step) { lives.touch(step, s); }, plan.steps[s]);
    }
    std::vector<bool> output(program.values.size(), false);
    const std::vector<bool> none(program.values.size(), false);
    output[home[program.hidden.index]] = output[home[program.logits.index]] = true;
    const std::vector<uint32_t> by_home = fit(program, lives.floats, output, plan.slots);
    plan.slot.resize(home.size());
    for (size_t v = 0; v < home.size(); ++v) plan.slot[v] = by_home[home[v]];
    plan.quantized_slot = fit(program, lives.quantized, none, plan.quantized_slots);
}

}  // namespace takt::cpu
