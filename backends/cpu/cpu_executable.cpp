// A run from batch to outputs; the steps themselves are in cpu_executable_rows, _products and _attention.
#include "cpu/cpu_executable.h"

#include <algorithm>
#include <cmath>

#include "backend/state_form.h"
#include "backend/step_batch_check.h"
#include "base/clock.h"
#include "cpu/step_names.h"
#include "program/rope.h"

namespace takt::cpu {

CpuExecutable::CpuExecutable(std::shared_ptr<const Program> program,
                             std::shared_ptr<const CpuWeights> weights, const CompileOptions& options,
                             const KernelTable& kernels, IsaLevel level, StepPlan plan, CpuMemory memory,
                             ThreadPool& pool)
    : program_(std::move(program)),
      weights_(std::move(weights)),
      options_(options),
      kernels_(kernels),
      level_(level),
      plan_(std::move(plan)),
      memory_(std::move(memory)),
      pool_(pool),
      rows_(options) {
    argmax_.reserve(options.max_output_rows);
    tiles_.reserve(options.max_rows);
    for (RopeTable& table : memory_.rope_tables()) {
        const uint32_t half = table.shape.rotated_dim / 2;
        const float* factors = weights_->vector(rope_factors(table.shape, options.max_context_tokens));
        for (uint32_t i = 0; i < half; ++i)
            table.frequencies.push_back(rope_frequency(table.shape, i, factors ? factors[i] : 1.0));
    }
    uint32_t widest = 0;
    for (const Op& op : program_->ops) {
        if (const auto* norm = std::get_if<RmsNormOp>(&op); norm && !norm->weight.valid())
            widest = std::max(widest, norm->group);
        if (const auto* activation = std::get_if<ActivationOp>(&op))
            widest = std::max(widest, program_->value(activation->in).width);
    }
    ones_.assign(widest, 1.0f);
}

void CpuExecutable::begin(const StepBatch& batch) {
    batch_ = &batch;
    rows_.place(batch);
    fill_rope_tables();
}

void CpuExecutable::run_step_at(size_t index) {
    const auto multiplies = [](const Step& step) {
        return std::holds_alternative<ProductStep>(step) || std::holds_alternative<GatedStep>(step);
    };
    const size_t n = plan_.steps.size();
    next_multiplying_ = nullptr;
    for (size_t i = 1; i <= n && next_multiplying_ == nullptr;
         ++i) {  // after the last: those of the next run
        const Step& step = plan_.steps[(index + i) % n];
        if (multiplies(step)) next_multiplying_ = &step;
    }
    std::visit([this](const auto& s) { run_step(s); }, plan_.steps[index]);
}

Result<StepOutput> CpuExecutable::run(const StepBatch& batch) {
    TAKT_RETURN_IF_ERROR(check_step_batch(*program_, options_, batch));
    const SteadyClock clock;
    const uint64_t start_ns = clock.now_ns();
    begin(batch);
    for (size_t i = 0; i < plan_.steps.size(); ++i) run_step_at(i);
    StepOutput output = collect(batch);
    batch_ = nullptr;
    output.compute_ns = clock.now_ns() - start_ns;
    return output;
}

Result<std::vector<PartTime>> CpuExecutable::run_timed(const StepBatch& batch) {
    TAKT_RETURN_IF_ERROR(check_step_batch(*program_, options_, batch));
    const SteadyClock clock;
    std::vector<PartTime> parts;
    uint64_t last_ns = clock.now_ns();
    // describe() runs between two parts, on nobody's time.
    const auto add = [&](const auto& describe) {
        const uint64_t ns = clock.now_ns() - last_ns;
        parts.push_back(describe());
        parts.back().ns = ns;
        last_ns = clock.now_ns();
    };
    begin(batch);
    add([] { return PartTime{"rows and rope tables", 0, 0, {}}; });
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
        run_step_at(i);
        add([&] {
            return describe_step(*program_, plan_.steps[i], n_rows(RowDomain::tokens),
                                 n_rows(RowDomain::outputs));
        });
    }
    collect(batch);
    add([] { return PartTime{"outputs", 0, 0, {}}; });
    batch_ = nullptr;
    return parts;
}

StepOutput CpuExecutable::collect(const StepBatch& batch) {
    const size_t n = rows_.outputs().size();
    StepOutput output;
    output.rows = rows_.outputs();
    output.logits = {memory_.rows(program_->logits).data, n * program_->vocab_size};
    if (anyone_wants(batch, OutputWanted::hidden)) {
        output.hidden = {memory_.rows(program_->hidden).data, n * program_->value(program_->hidden).width};
    }
    if (anyone_wants(batch, OutputWanted::argmax)) {
        find_argmax();
        output.argmax = argmax_;
    }
    return output;
}

// Parts of rows side by side, then the parts of each row in order: the lowest id of the highest wins.
void CpuExecutable::find_argmax() {
    const uint32_t vocab = program_->vocab_size, n_parts = (vocab + kArgmaxColumns - 1) / kArgmaxColumns;
    const auto n = static_cast<uint32_t>(rows_.outputs().size());
    const std::span<ArgmaxResult> parts = memory_.argmax_parts();
    const auto look = [&](uint32_t task, uint32_t) {
        const uint32_t first = task % n_parts * kArgmaxColumns,
                       columns = std::min(kArgmaxColumns, vocab - first);
        parts[task] =
            kernels_.rows.argmax(memory_.rows(program_->logits).row(task / n_parts) + first, columns);
        parts[task].index += first;
    };
    parallel(n * n_parts, uint64_t{n} * vocab > 65536, look);
    argmax_.clear();
    for (uint32_t row = 0; row < n; ++row) {
        const std::span<const ArgmaxResult> of_row = parts.subspan(size_t{row} * n_parts, n_parts);
        const auto best =
            std::ranges::max_element(of_row, {}, &ArgmaxResult::highest);  // the first of equals
        const bool finite = std::ranges::all_of(of_row, &ArgmaxResult::finite);
        argmax_.push_back(finite ? static_cast<int32_t>(best->index) : -1);
    }
}

Status CpuExecutable::commit(uint64_t sequence, uint32_t rows_kept) {
    return rows_.check_commit(sequence, rows_kept);
}

Status CpuExecutable::copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) {
    TAKT_RETURN_IF_ERROR(check_page_copy(*program_, options_, group, from_page, to_page));
    const uint32_t n_pages = options_.n_pages[group];
    for (uint32_t i = 0; i < program_->states.size(); ++i) {
        if (program_->states[i].group != group) continue;
        copy_page_bytes(memory_.all_pages()[i].keys.as<std::byte>(), n_pages, from_page, to_page);
        copy_page_bytes(memory_.all_pages()[i].values.as<std::byte>(), n_pages, from_page, to_page);
    }
    return {};
}

// Calls visit with the place of each head of each position in the pages and outside. Page by page and head by
// head, since a run's keys stay in the cache while its positions are taken out one after another.
template <typename Bytes, typename Visit>
void CpuExecutable::each_head(const StateRange& range, Bytes bytes, Visit visit) {
    const KvStateDecl& state = program_->state(range.state);
    KvPages& pages = memory_.pages(range.state);
    const size_t key_bytes = row_bytes(*kv_dtype(), state.key_dim),
                 value_bytes = row_bytes(*kv_dtype(), state.value_dim), heads = state.n_kv_heads;
    const auto keys = bytes.data(), values = keys + range.n_positions * heads * key_bytes;
    const uint32_t end = range.first_position + range.n_positions;
    for (uint32_t first = range.first_position; first < end;) {
        const uint32_t page_end = std::min(end, (first / pages.page_tokens + 1) * pages.page_tokens);
        for (uint32_t head = 0; head < heads; ++head) {
            const KvRun run = pages.run(range.table[first / pages.page_tokens], head);
            for (uint32_t position = first; position < page_end; ++position) {
                const size_t index = size_t{position - range.first_position} * heads + head;
                visit(pages.shape, run, position % pages.page_tokens, keys + index * key_bytes,
                      values + index * value_bytes);
            }
        }
        first = page_end;
    }
}

Status CpuExecutable::read_state(const StateRange& range, std::span<std::byte> out) {
    TAKT_RETURN_IF_ERROR(check_state_range(*program_, options_, *kv_dtype(), range, out.size()));
    const uint32_t value_dim = program_->state(range.state).value_dim;
    each_head(range, out,
              [&](const KvShape& shape, const KvRun& run, uint32_t token, std::byte* keys,
                  std::byte* values) { shape.give(run, token, value_dim, keys, values); });
    return {};
}

Status CpuExecutable::write_state(const StateRange& range, std::span<const std::byte> in) {
    TAKT_RETURN_IF_ERROR(check_state_range(*program_, options_, *kv_dtype(), range, in.size()));
    const uint32_t value_dim = program_->state(range.state).value_dim;
    each_head(range, in,
              [&](const KvShape& shape, const KvRun& run, uint32_t token, const std::byte* keys,
                  const std::byte* values) { shape.take(run, token, value_dim, keys, values); });
    return {};
}

MemoryPlan CpuExecutable::memory() const {
    return {weights_->size_bytes(), memory_.state_bytes(), memory_.scratch_bytes()};
}

void CpuExecutable::parallel(uint32_t n_tasks, bool worth_it, Body body) {
    if (worth_it) return pool_.run(n_tasks, body);
    for (uint32_t task = 0; task < n_tasks; ++task) body(task, 0);
}

}  // namespace takt::cpu
