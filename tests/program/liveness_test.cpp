// No two values that live at once share a slot, and slots are shared where they can be.
#include <catch2/catch.hpp>

#include "program/liveness.h"
#include "program/operands.h"
#include "small_program.h"

using namespace takt;

TEST_CASE("A slot is never written while another value in it is still needed") {
    const Program program = *test::small_program();
    const SlotPlan plan = plan_slots(program);
    std::vector<uint32_t> holder(plan.slots.size(), ~0u);  // value whose floats the slot holds
    for (const Op& op : program.ops) {
        const Operands used = operands(op);
        for (ValueId read : used.read_values()) {
            CAPTURE(op_name(op), program.value(read).name);
            CHECK(holder[plan.slot_of_value[read.index]] == read.index);
            if (used.write.valid())
                CHECK(plan.slot_of_value[read.index] != plan.slot_of_value[used.write.index]);
        }
        if (used.write.valid()) holder[plan.slot_of_value[used.write.index]] = used.write.index;
    }
    CHECK(holder[plan.slot_of_value[program.hidden.index]] == program.hidden.index);
    CHECK(holder[plan.slot_of_value[program.logits.index]] == program.logits.index);
}

TEST_CASE("Slots are as wide as their widest value, of one row domain, and fewer than values") {
    const Program program = *test::small_program();
    const SlotPlan plan = plan_slots(program);
    CHECK(plan.slots.size() < program.values.size());
    for (size_t i = 0; i < program.values.size(); ++i) {
        const ValueSlot& slot = plan.slots[plan.slot_of_value[i]];
        CHECK(slot.domain == program.values[i].domain);
        CHECK(slot.width >= program.values[i].width);
    }
}
