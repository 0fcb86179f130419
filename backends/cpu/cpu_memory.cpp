// Sizes first, all of them checked; then the same sizes are allocated.
#include "cpu/cpu_memory.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/checked_math.h"
#include "cpu/onednn_matmul.h"

namespace takt::cpu {
namespace {

// A product of factors; sticks at "too much".
class Size {
public:
    Size(std::initializer_list<uint64_t> factors) {
        for (const uint64_t factor : factors) bytes_ = bytes_ ? checked_mul(*bytes_, factor) : std::nullopt;
    }
    std::optional<uint64_t> bytes() const { return bytes_; }

private:
    std::optional<uint64_t> bytes_ = 1;
};

struct Sizes {
    std::vector<uint64_t> slots, quantized, keys, values, angles;
    uint64_t scratch = 0, unpacked = 0, onednn = 0;  // of one worker
    uint64_t partials = 0, argmax = 0;
    std::array<uint64_t, ExpertRows::kBuffers> experts{};  // in the order of ExpertRows::buffers()
    uint64_t n_threads = 1;
    bool overflow = false;

    uint64_t take(const Size& size) {
        overflow = overflow || !size.bytes();
        return size.bytes().value_or(0);
    }
    uint64_t total_scratch() {
        uint64_t total = 0;
        for (const auto* list : {&slots, &quantized, &angles}) {
            for (const uint64_t bytes : *list) add(total, bytes);
        }
        for (const uint64_t one : {scratch, unpacked, onednn}) add(total, take({one, n_threads}));
        for (const uint64_t bytes : {partials, argmax}) add(total, bytes);
        for (const uint64_t bytes : experts) add(total, bytes);
        return total;
    }
    uint64_t total_state() {
        uint64_t total = 0;
        for (const auto* list : {&keys, &values}) {
            for (const uint64_t bytes : *list) add(total, bytes);
        }
        return total;
    }

private:
    void add(uint64_t& total, uint64_t bytes) {
        const std::optional<uint64_t> sum = checked_add(total, bytes);
        overflow = overflow || !sum;
        total = sum.value_or(0);
    }
};

uint64_t slot_stride(const StepPlan::Slot& slot) {
    return slot.output ? slot.width : padded_dim(slot.width);
}

uint64_t rows_of(const StepPlan::Slot& slot, const CompileOptions& options) {
    return slot.domain == RowDomain::tokens ? options.max_rows : options.max_output_rows;
}

std::vector<const RopeOp*> rope_ops(const Program& program) {
    std::vector<const RopeOp*> ops;
    for (const Op& op : program.ops) {
        if (const auto* rope = std::get_if<RopeOp>(&op)) ops.push_back(rope);
    }
    return ops;
}

bool same_angles(const RopeOp& a, const RopeOp& b) {
    return a.rotated_dim == b.rotated_dim && a.style == b.style && a.base == b.base &&
           a.frequency_scale == b.frequency_scale && a.factors == b.factors &&
           a.long_factors == b.long_factors && a.short_context == b.short_context &&
           a.ramp_begin == b.ramp_begin && a.ramp_end == b.ramp_end && a.magnitude == b.magnitude;
}

std::vector<RopeOp> rope_shapes(const Program& program) {
    std::vector<RopeOp> shapes;
    for (const RopeOp* op : rope_ops(program)) {
        const auto same = [&](const RopeOp& known) { return same_angles(known, *op); };
        if (std::ranges::none_of(shapes, same)) shapes.push_back(*op);
    }
    return shapes;
}

// Floats that one worker needs at once for an attention task: states of the chunk and in all, scores, a
// widened tile, gathered blocks.
uint64_t attention_floats(const AttentionOp& op, const KvStateDecl& state, KvForm form) {
    const uint64_t heads = heads_per_group(op, state),
                   queries = task_rows(static_cast<uint32_t>(heads)) * heads;
    const KvShape shape = KvShape::of(state, form);
    const uint64_t gathered = kTileBlocks * (shape.key_bytes(kRowLanes) + shape.value_bytes(kRowLanes)) / 4;
    const uint64_t pointers = queries * sizeof(float*) / sizeof(float);
    return queries * (2 * state_stride(state.value_dim) + kTilePositions + kRowLanes) +
           widened_floats(shape) + gathered + pointers + 64;
}

uint64_t scratch_floats(const Program& program, KvForm form) {
    uint64_t floats = 2 * uint64_t{kGatedRows} * kGatedPanels * kPanelRows;
    for (const Op& op : program.ops) {
        if (const auto* attention = std::get_if<AttentionOp>(&op)) {
            floats = std::max(floats, attention_floats(*attention, program.state(attention->state), form));
        } else if (const auto* route = std::get_if<RouteOp>(&op)) {
            floats = std::max<uint64_t>(floats, program.value(route->logits).width);
        } else if (const auto* append = std::get_if<KvAppendOp>(&op)) {
            floats = std::max<uint64_t>(
                floats, std::max(program.value(append->keys).width, program.value(append->values).width));
        }
    }
    return (floats + kRowLanes - 1) / kRowLanes * kRowLanes;
}

uint64_t partial_floats_per_chunk(const Program& program) {
    uint64_t floats = 0;
    for (const Op& op : program.ops) {
        if (const auto* attention = std::get_if<AttentionOp>(&op)) {
            const KvStateDecl& state = program.state(attention->state);
            floats = std::max<uint64_t>(floats,
                                        heads_per_group(*attention, state) * state_stride(state.value_dim));
        }
    }
    return floats;
}

// The largest of all mixtures.
void plan_experts(const Program& program, const StepPlan& steps, const CompileOptions& options,
                  Sizes& sizes) {
    for (const Step& any : steps.steps) {
        const auto* step = std::get_if<ExpertStep>(&any);
        if (step == nullptr) continue;
        const uint64_t rows = step->domain == RowDomain::tokens ? options.max_rows : options.max_output_rows,
                       gathered = sizes.take({rows, program.value(step->op.routes).width / 2});
        const uint32_t ffn = program.weight(step->op.down).columns, width = program.value(step->op.in).width;
        const std::array<uint64_t, ExpertRows::kBuffers> own = {
            sizes.take({uint64_t{step->op.n_experts} + 1, sizeof(uint32_t)}),
            sizes.take({gathered, sizeof(uint32_t)}),
            sizes.take({gathered, step->dense_in ? width * sizeof(float) : quantized_row_bytes(width)}),
            sizes.take({gathered, ffn, sizeof(float)}),
            sizes.take({gathered, ffn, sizeof(float)}),
            step->dense_down ? 0 : sizes.take({gathered, quantized_row_bytes(ffn)}),
            sizes.take({gathered, program.value(step->op.out).width, sizeof(float)})};
        for (size_t i = 0; i < own.size(); ++i) sizes.experts[i] = std::max(sizes.experts[i], own[i]);
        if (!step->dense_down)
            sizes.unpacked = std::max(sizes.unpacked, sizes.take({ffn / kBlockValues, kUnpackedBlockBytes}));
    }
}

Sizes plan_sizes(const Program& program, const StepPlan& steps, const CompileOptions& options,
                 const MemoryShape& shape) {
    Sizes sizes;
    plan_experts(program, steps, options, sizes);
    sizes.n_threads = shape.n_threads;
    sizes.onednn = sizes.take({onednn_scratch_floats(shape.onednn_columns), sizeof(float)});
    for (const StepPlan::Slot& slot : steps.slots) {
        sizes.slots.push_back(sizes.take({rows_of(slot, options), slot_stride(slot), sizeof(float)}));
    }
    for (const StepPlan::Slot& slot : steps.quantized_slots) {
        sizes.quantized.push_back(sizes.take({rows_of(slot, options), quantized_row_bytes(slot.width)}));
        sizes.unpacked =
            std::max(sizes.unpacked, sizes.take({slot.width / kBlockValues, kUnpackedBlockBytes}));
    }
    for (const KvStateDecl& state : program.states) {
        const KvShape pages = KvShape::of(state, kv_form(options));
        const uint64_t n_pages = options.n_pages[state.group];
        sizes.keys.push_back(sizes.take({n_pages, state.n_kv_heads, pages.key_bytes(options.page_tokens)}));
        sizes.values.push_back(
            sizes.take({n_pages, state.n_kv_heads, pages.value_bytes(options.page_tokens)}));
    }
    for (const RopeOp& rope : rope_shapes(program)) {
        sizes.angles.push_back(sizes.take({options.max_rows, 2, rope.rotated_dim, sizeof(float)}));
    }
    sizes.scratch = sizes.take({scratch_floats(program, kv_form(options)), sizeof(float)});
    sizes.partials = sizes.take({shared_units(shape.n_threads), chunks_of(options.max_context_tokens),
                                 partial_floats_per_chunk(program), sizeof(float)});
    sizes.argmax =
        sizes.take({options.max_output_rows, (program.vocab_size + kArgmaxColumns - 1) / kArgmaxColumns,
                    sizeof(ArgmaxResult)});
    return sizes;
}

Status too_much() {
    return Status(StatusCode::out_of_memory, "The sizes of pages or scratch don't fit in 64 bits.");
}

Status allocate_into(AlignedBuffer& buffer, uint64_t size_bytes, std::string_view what) {
    Result<AlignedBuffer> made = AlignedBuffer::allocate(size_bytes);
    if (!made.ok()) return made.status().with_context(what);
    buffer = std::move(*made);
    return {};
}

Status allocate_all(std::vector<AlignedBuffer>& buffers, const std::vector<uint64_t>& sizes,
                    std::string_view what) {
    buffers.resize(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) TAKT_RETURN_IF_ERROR(allocate_into(buffers[i], sizes[i], what));
    return {};
}

}  // namespace

Result<MemoryPlan> CpuMemory::plan(const Program& program, const StepPlan& steps,
                                   const CompileOptions& options, const MemoryShape& shape) {
    Sizes sizes = plan_sizes(program, steps, options, shape);
    MemoryPlan plan{0, sizes.total_state(), sizes.total_scratch()};
    if (sizes.overflow) return too_much();
    return plan;
}

Result<CpuMemory> CpuMemory::allocate(const Program& program, const StepPlan& steps,
                                      const CompileOptions& options, const MemoryShape& shape) {
    Sizes sizes = plan_sizes(program, steps, options, shape);
    sizes.total_scratch();
    sizes.total_state();
    if (sizes.overflow) return too_much();
    CpuMemory memory;
    TAKT_RETURN_IF_ERROR(allocate_all(memory.slots_, sizes.slots, "Scratch"));
    TAKT_RETURN_IF_ERROR(allocate_all(memory.quantized_slots_, sizes.quantized, "Scratch"));
    for (size_t i = 0; i < program.states.size(); ++i) {
        const KvStateDecl& state = program.states[i];
        KvPages& pages = memory.pages_.emplace_back();
        pages.shape = KvShape::of(state, kv_form(options));
        pages.page_tokens = options.page_tokens;
        TAKT_RETURN_IF_ERROR(allocate_into(pages.keys, sizes.keys[i], "Pages of keys"));
        TAKT_RETURN_IF_ERROR(allocate_into(pages.values, sizes.values[i], "Pages of values"));
    }
    const std::vector<RopeOp> shapes = rope_shapes(program);
    for (size_t i = 0; i < shapes.size(); ++i) {
        RopeTable& table = memory.rope_tables_.emplace_back();
        table.shape = shapes[i];
        TAKT_RETURN_IF_ERROR(allocate_into(table.angles, sizes.angles[i], "Scratch"));
    }
    memory.rope_table_of_.resize(program.values.size());
    for (const RopeOp* op : rope_ops(program)) {
        const auto found =
            std::ranges::find_if(shapes, [&](const RopeOp& known) { return same_angles(known, *op); });
        memory.rope_table_of_[op->out.index] = static_cast<uint32_t>(found - shapes.begin());
    }
    memory.scratch_floats_ = sizes.scratch / sizeof(float);
    TAKT_RETURN_IF_ERROR(allocate_into(memory.scratch_, sizes.scratch * shape.n_threads, "Scratch"));
    memory.unpacked_bytes_ = sizes.unpacked;
    TAKT_RETURN_IF_ERROR(allocate_into(memory.unpacked_, sizes.unpacked * shape.n_threads, "Scratch"));
    memory.onednn_floats_ = sizes.onednn / sizeof(float);
    TAKT_RETURN_IF_ERROR(allocate_into(memory.onednn_scratch_, sizes.onednn * shape.n_threads, "Scratch"));
    TAKT_RETURN_IF_ERROR(allocate_into(memory.partials_, sizes.partials, "Scratch"));
    TAKT_RETURN_IF_ERROR(allocate_into(memory.argmax_parts_, sizes.argmax, "Scratch"));
    size_t part = 0;
    for (AlignedBuffer* buffer : memory.experts_.buffers())
        TAKT_RETURN_IF_ERROR(allocate_into(*buffer, sizes.experts[part++], "Rows of experts"));
    memory.floats_.resize(program.values.size());
    memory.quantized_.resize(program.values.size());
    for (size_t v = 0; v < program.values.size(); ++v) {
        if (const uint32_t slot = steps.slot[v]; slot != kNoSlot) {
            memory.floats_[v] = {memory.slots_[slot].as<float>().data(), slot_stride(steps.slots[slot])};
        }
        if (const uint32_t slot = steps.quantized_slot[v]; slot != kNoSlot) {
            memory.quantized_[v] =
                QuantizedRows(memory.quantized_slots_[slot].data(), program.values[v].width);
        }
    }
    return memory;
}

uint64_t CpuMemory::state_bytes() const {
    uint64_t total = 0;
    for (const KvPages& pages : pages_) total += pages.keys.size_bytes() + pages.values.size_bytes();
    return total;
}

uint64_t CpuMemory::scratch_bytes() const {
    uint64_t total = 0;
    for (const AlignedBuffer* buffer : {&scratch_, &unpacked_, &onednn_scratch_, &partials_, &argmax_parts_})
        total += buffer->size_bytes();
    for (const AlignedBuffer& buffer : slots_) total += buffer.size_bytes();
    for (const AlignedBuffer& buffer : quantized_slots_) total += buffer.size_bytes();
    for (const RopeTable& table : rope_tables_) total += table.angles.size_bytes();
    for (const AlignedBuffer* buffer : experts_.buffers()) total += buffer->size_bytes();
    return total;
}

}  // namespace takt::cpu
