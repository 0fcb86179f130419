// The buffers of one executable: value slots, pages and outputs, all allocated before the first run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "program/liveness.h"
#include "program/program.h"

namespace takt::reference {

// Keys and values of one layer, float32: page after page, [page_tokens][n_kv_heads * dim] in each.
struct KvPages {
    AlignedBuffer keys, values;
};

// One recurrent state: its slots, and the states behind the last rows of each sequence of a step, [sequence]
// [kStatesKept]: that behind row i at i % kStatesKept.
struct RecurrentSlots {
    AlignedBuffer slots, rows;
};
constexpr uint32_t kStatesKept = kMaxUndoneRows + 1;

class ReferenceMemory {
public:
    static MemoryPlan plan(const Program& program, const CompileOptions& options, uint32_t n_threads);
    static Result<ReferenceMemory> allocate(const Program& program, const CompileOptions& options,
                                            uint32_t n_threads);

    std::span<float> row(ValueId value, uint32_t row);
    std::span<double> scores(uint32_t worker) {
        return scores_.as<double>().subspan(size_t{worker} * n_scores_, n_scores_);
    }
    KvPages& pages(StateId state) { return pages_[state.index]; }
    RecurrentSlots& recurrent(RecurrentStateId state) { return recurrent_[state.index]; }
    std::span<float> logits() { return logits_.as<float>(); }
    std::span<float> hidden() { return hidden_.as<float>(); }
    uint64_t state_bytes() const;
    uint64_t scratch_bytes() const;

private:
    const Program* program_ = nullptr;
    SlotPlan slot_plan_;
    std::vector<AlignedBuffer> slots_;
    std::vector<KvPages> pages_;
    std::vector<RecurrentSlots> recurrent_;
    AlignedBuffer scores_, logits_, hidden_;
    size_t n_scores_ = 0;
};

}  // namespace takt::reference
