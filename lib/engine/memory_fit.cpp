// A plan costs no memory, so the largest value that fits is found by trying.
#include "engine/memory_fit.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/engine_options.h"

namespace takt {
namespace {

struct Floors {
    uint32_t context_tokens, chunk_tokens, max_sequences;
};
// First to values at which an engine still works well, then to the least that is of use.
constexpr Floors kFloors[] = {{2048, 128, 4}, {256, 16, 1}};

class Fit {
public:
    Fit(const EngineOptions& asked, EngineOptions resolved, const Program& program, const Backend& backend)
        : asked_(asked), options_(std::move(resolved)), program_(program), backend_(backend) {}

    Result<EnginePlan> run() {
        Result<MemoryPlan> plan = plan_for(options_);
        if (!plan.ok() || fits(*plan)) return result(plan);
        if (plan->weight_bytes > options_.memory_limit_bytes) {
            return Status(StatusCode::out_of_memory,
                          fmt::format("The weights need {} bytes, memory_limit_bytes is {}.",
                                      plan->weight_bytes, options_.memory_limit_bytes));
        }
        lower_all();
        plan = plan_for(options_);
        if (!plan.ok() || fits(*plan)) return result(plan);
        return Status(
            StatusCode::out_of_memory,
            fmt::format("The engine needs {} bytes at least, {} for weights, {} for pages and {} for "
                        "scratch; memory_limit_bytes is {}.",
                        plan->total_bytes(), plan->weight_bytes, plan->state_bytes, plan->scratch_bytes,
                        options_.memory_limit_bytes));
    }

private:
    Result<MemoryPlan> plan_for(const EngineOptions& options) const {
        Result<MemoryPlan> plan = backend_.plan(program_, make_compile_options(options, program_));
        if (!plan.ok() || !options.draft_model) return plan;
        const Program& draft = *options.draft_model->program();
        Result<MemoryPlan> more =
            backend_.plan(draft, make_compile_options(options_of_draft(options), draft));
        if (!more.ok()) return more;
        *plan += beside_model(*more, &draft == &program_);
        return plan;
    }
    bool fits(const MemoryPlan& plan) const {
        return options_.memory_limit_bytes == 0 || plan.total_bytes() <= options_.memory_limit_bytes;
    }
    Result<EnginePlan> result(const Result<MemoryPlan>& plan) const {
        if (!plan.ok()) return plan.status();
        return EnginePlan{options_, *plan};
    }

    void lower_all() {
        if (asked_.kv_tokens == 0) {
            lower(options_.kv_tokens, options_.context_tokens,
                  [](EngineOptions& o, uint64_t value) { o.kv_tokens = value; });
        }
        for (const Floors& floors : kFloors) {
            if (asked_.context_tokens == 0) {
                lower(options_.context_tokens, floors.context_tokens,
                      [this](EngineOptions& o, uint64_t value) {
                          o.context_tokens = static_cast<uint32_t>(value);
                          o.chunk_tokens = std::min(o.chunk_tokens, o.context_tokens);
                          if (asked_.kv_tokens == 0) o.kv_tokens = value;
                      });
            }
            if (asked_.chunk_tokens == 0) {
                lower(options_.chunk_tokens, floors.chunk_tokens, [](EngineOptions& o, uint64_t value) {
                    o.chunk_tokens = static_cast<uint32_t>(value);
                });
            }
            if (asked_.max_sequences == 0) {
                lower(options_.max_sequences, floors.max_sequences, [](EngineOptions& o, uint64_t value) {
                    o.max_sequences = static_cast<uint32_t>(value);
                });
            }
        }
    }

    // Sets the largest value from floor to now with which the plan fits, or floor where none does.
    template <typename Set>
    void lower(uint64_t now, uint64_t floor, Set set) {
        const auto total_with = [&](uint64_t value) {
            EngineOptions options = options_;
            set(options, value);
            const Result<MemoryPlan> plan = plan_for(options);
            return plan.ok() ? plan->total_bytes() : UINT64_MAX;
        };
        const uint64_t have = total_with(now), limit = options_.memory_limit_bytes;
        if (have <= limit || floor >= now) return;
        const uint64_t least = total_with(floor);
        if (least >= have) return;
        uint64_t low = floor, high = now;  // low fits, or is the floor; high doesn't fit
        while (least <= limit && high - low > 1) {
            const uint64_t middle = low + (high - low) / 2;
            (total_with(middle) <= limit ? low : high) = middle;
        }
        set(options_, low);
    }

    const EngineOptions& asked_;
    EngineOptions options_;
    const Program& program_;
    const Backend& backend_;
};

}  // namespace

MemoryPlan beside_model(MemoryPlan draft, bool is_model_itself) {
    if (is_model_itself) draft.weight_bytes = 0;
    return draft;
}

Result<EnginePlan> plan_engine(const EngineOptions& asked, const Model& model, const Backend& backend) {
    TAKT_RETURN_IF_ERROR(backend.supports(*model.program()));
    if (asked.draft_model) TAKT_RETURN_IF_ERROR(backend.supports(*asked.draft_model->program()));
    const Result<EngineOptions> resolved = resolve_options(asked, model);
    if (!resolved.ok()) return resolved.status();
    return Fit(asked, *resolved, *model.program(), backend).run();
}

}  // namespace takt
