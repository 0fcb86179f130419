// Sizes are computed once, in plan_sizes, for the plan and for the allocation alike.
#include "reference/reference_memory.h"

namespace takt::reference {
namespace {

// Rows begin on cache lines, so that a row meets the same alignment wherever it stands in a batch.
uint64_t row_stride(uint32_t width) {
    constexpr uint64_t kFloatsPerLine = AlignedBuffer::kAlignment / sizeof(float);
    return (width + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

struct Sizes {
    SlotPlan slot_plan;
    std::vector<uint64_t> slots;         // bytes
    std::vector<uint64_t> keys, values;  // bytes, per state
    std::vector<uint64_t> recurrent, rows;
    uint64_t scores = 0, logits = 0, hidden = 0;
};

Sizes plan_sizes(const Program& program, const CompileOptions& options, uint32_t n_threads) {
    Sizes sizes;
    sizes.slot_plan = plan_slots(program);
    for (const ValueSlot& slot : sizes.slot_plan.slots) {
        const uint64_t rows = slot.domain == RowDomain::tokens ? options.max_rows : options.max_output_rows;
        sizes.slots.push_back(rows * row_stride(slot.width) * sizeof(float));
    }
    for (const KvStateDecl& state : program.states) {
        const uint64_t positions = uint64_t{options.n_pages[state.group]} * options.page_tokens;
        sizes.keys.push_back(positions * state.n_kv_heads * state.key_dim * sizeof(float));
        sizes.values.push_back(positions * state.n_kv_heads * state.value_dim * sizeof(float));
    }
    for (const RecurrentStateDecl& state : program.recurrent_states) {
        const uint64_t bytes = uint64_t{state.n_floats} * sizeof(float);
        sizes.recurrent.push_back(options.n_pages[state.group] * bytes);
        sizes.rows.push_back(uint64_t{options.max_sequences} * kStatesKept * bytes);
    }
    sizes.scores = uint64_t{n_threads} * (uint64_t{options.max_context_tokens} + 1) * sizeof(double);
    sizes.logits = uint64_t{options.max_output_rows} * program.vocab_size * sizeof(float);
    sizes.hidden = uint64_t{options.max_output_rows} * program.value(program.hidden).width * sizeof(float);
    return sizes;
}

Status allocate_into(AlignedBuffer& buffer, uint64_t size_bytes, std::string_view what) {
    Result<AlignedBuffer> made = AlignedBuffer::allocate(size_bytes);
    if (!made.ok()) return made.status().with_context(what);
    buffer = std::move(*made);
    return {};
}

}  // namespace

MemoryPlan ReferenceMemory::plan(const Program& program, const CompileOptions& options, uint32_t n_threads) {
    const Sizes sizes = plan_sizes(program, options, n_threads);
    MemoryPlan plan;
    for (uint64_t bytes : sizes.slots) plan.scratch_bytes += bytes;
    plan.scratch_bytes += sizes.scores + sizes.logits + sizes.hidden;
    for (uint64_t bytes : sizes.keys) plan.state_bytes += bytes;
    for (uint64_t bytes : sizes.values) plan.state_bytes += bytes;
    for (uint64_t bytes : sizes.recurrent) plan.state_bytes += bytes;
    for (uint64_t bytes : sizes.rows) plan.scratch_bytes += bytes;
    return plan;
}

Result<ReferenceMemory> ReferenceMemory::allocate(const Program& program, const CompileOptions& options,
                                                  uint32_t n_threads) {
    Sizes sizes = plan_sizes(program, options, n_threads);
    ReferenceMemory memory;
    memory.program_ = &program;
    memory.n_scores_ = size_t{options.max_context_tokens} + 1;  // and a sink
    memory.slots_.resize(sizes.slots.size());
    for (size_t i = 0; i < sizes.slots.size(); ++i)
        TAKT_RETURN_IF_ERROR(allocate_into(memory.slots_[i], sizes.slots[i], "Scratch"));
    memory.pages_.resize(program.states.size());
    for (size_t i = 0; i < program.states.size(); ++i) {
        TAKT_RETURN_IF_ERROR(allocate_into(memory.pages_[i].keys, sizes.keys[i], "Pages of keys"));
        TAKT_RETURN_IF_ERROR(allocate_into(memory.pages_[i].values, sizes.values[i], "Pages of values"));
    }
    memory.recurrent_.resize(program.recurrent_states.size());
    for (size_t i = 0; i < memory.recurrent_.size(); ++i) {
        RecurrentSlots& state = memory.recurrent_[i];
        TAKT_RETURN_IF_ERROR(allocate_into(state.slots, sizes.recurrent[i], "Slots of recurrent state"));
        TAKT_RETURN_IF_ERROR(allocate_into(state.rows, sizes.rows[i], "States of a step"));
    }
    TAKT_RETURN_IF_ERROR(allocate_into(memory.scores_, sizes.scores, "Scores"));
    TAKT_RETURN_IF_ERROR(allocate_into(memory.logits_, sizes.logits, "Logits"));
    TAKT_RETURN_IF_ERROR(allocate_into(memory.hidden_, sizes.hidden, "Hidden rows"));
    memory.slot_plan_ = std::move(sizes.slot_plan);
    return memory;
}

std::span<float> ReferenceMemory::row(ValueId value, uint32_t row) {
    const uint32_t slot = slot_plan_.slot_of_value[value.index];
    const size_t stride = row_stride(slot_plan_.slots[slot].width);
    return slots_[slot].as<float>().subspan(row * stride, program_->value(value).width);
}

uint64_t ReferenceMemory::state_bytes() const {
    uint64_t total = 0;
    for (const KvPages& pages : pages_) total += pages.keys.size_bytes() + pages.values.size_bytes();
    for (const RecurrentSlots& state : recurrent_) total += state.slots.size_bytes();
    return total;
}

uint64_t ReferenceMemory::scratch_bytes() const {
    uint64_t total = scores_.size_bytes() + logits_.size_bytes() + hidden_.size_bytes();
    for (const AlignedBuffer& slot : slots_) total += slot.size_bytes();
    for (const RecurrentSlots& state : recurrent_) total += state.rows.size_bytes();
    return total;
}

}  // namespace takt::reference
