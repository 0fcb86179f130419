// Slots by first fit: the free slot of the same domain that wastes least.
#include "program/liveness.h"

#include <algorithm>

#include "program/operands.h"

namespace takt {
namespace {

constexpr size_t kNever = ~size_t{0};

// Index of the op that reads each value last; kNever for those that outlive the run.
std::vector<size_t> last_reads(const Program& program) {
    std::vector<size_t> last(program.values.size(), 0);
    for (size_t i = 0; i < program.ops.size(); ++i) {
        const Operands used = operands(program.ops[i]);
        for (ValueId read : used.read_values()) last[read.index] = i;
        if (used.write.valid()) last[used.write.index] = std::max(last[used.write.index], i);
    }
    last[program.hidden.index] = last[program.logits.index] = kNever;
    return last;
}

uint32_t take_slot(SlotPlan& plan, std::vector<uint32_t>& free_slots, const ValueDecl& value) {
    auto waste = [&](uint32_t slot) {
        const uint32_t width = plan.slots[slot].width;
        return width > value.width ? width - value.width : value.width - width;
    };
    auto best = free_slots.end();
    for (auto it = free_slots.begin(); it != free_slots.end(); ++it) {
        if (plan.slots[*it].domain != value.domain) continue;
        if (best == free_slots.end() || waste(*it) < waste(*best)) best = it;
    }
    if (best == free_slots.end()) {
        plan.slots.push_back({value.domain, value.width});
        return static_cast<uint32_t>(plan.slots.size() - 1);
    }
    const uint32_t slot = *best;
    free_slots.erase(best);
    plan.slots[slot].width = std::max(plan.slots[slot].width, value.width);
    return slot;
}

}  // namespace

SlotPlan plan_slots(const Program& program) {
    const std::vector<size_t> last = last_reads(program);
    SlotPlan plan;
    plan.slot_of_value.assign(program.values.size(), 0);
    std::vector<uint32_t> free_slots;
    std::vector<ValueId> live;
    for (size_t i = 0; i < program.ops.size(); ++i) {
        const ValueId written = operands(program.ops[i]).write;
        if (written.valid()) {
            plan.slot_of_value[written.index] = take_slot(plan, free_slots, program.value(written));
            live.push_back(written);
        }
        std::erase_if(live, [&](ValueId value) {
            if (last[value.index] > i) return false;
            free_slots.push_back(plan.slot_of_value[value.index]);
            return true;
        });
    }
    return plan;
}

}  // namespace takt
