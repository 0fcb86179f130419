// Which values may share a buffer: each value gets a slot, free again after the op that reads it last.
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace takt {

struct ValueSlot {
    RowDomain domain = RowDomain::tokens;  // rows the slot must hold
    uint32_t width = 0;                    // floats per row of its widest value
};

struct SlotPlan {
    std::vector<ValueSlot> slots;
    std::vector<uint32_t> slot_of_value;  // by ValueId::index
};

// An op's output never shares a slot with one of its inputs. hidden and logits stay to the end.
SlotPlan plan_slots(const Program& program);

}  // namespace takt
