// A run from batch to outputs; the steps themselves are in cpu_executable_rows, _products and _attention.
#include "cpu/cpu_executable.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backend/step_batch_check.h"
#include "base/clock.h"

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
      pool_(pool) {
    places_.reserve(options.max_rows);
    output_rows_.reserve(options.max_output_rows);
    argmax_.reserve(options.max_output_rows);
    last_run_.reserve(options.max_sequences);
    tiles_.reserve(options.max_rows);
    for (RopeTable& table : memory_.rope_tables()) {
        const uint32_t half = table.shape.rotated_dim / 2;
        const float* factors = weights_->vector(table.shape.factors);
        for (uint32_t i = 0; i < half; ++i) {
            const double exponent = -2.0 * i / table.shape.rotated_dim;
            const double frequency =
                std::pow(static_cast<double>(table.shape.base), exponent) * table.shape.frequency_scale;
            table.frequencies.push_back(factors ? frequency / factors[i] : frequency);
        }
    }
}

Result<StepOutput> CpuExecutable::run(const StepBatch& batch) {
    TAKT_RETURN_IF_ERROR(check_step_batch(*program_, options_, batch));
    const SteadyClock clock;
    const uint64_t start_ns = clock.now_ns();
    batch_ = &batch;
    place_rows(batch);
    fill_rope_tables();
    for (const Step& step : plan_.steps) std::visit([this](const auto& s) { run_step(s); }, step);
    StepOutput output = collect(batch);
    batch_ = nullptr;
    output.compute_ns = clock.now_ns() - start_ns;
    return output;
}

void CpuExecutable::place_rows(const StepBatch& batch) {
    places_.clear();
    output_rows_.clear();
    last_run_.clear();
    for (uint32_t s = 0; s < batch.sequences.size(); ++s) {
        const BatchSequence& sequence = batch.sequences[s];
        for (uint32_t i = 0; i < sequence.n_rows; ++i) places_.push_back({s, sequence.first_position + i});
        last_run_.push_back({sequence.sequence, sequence.n_rows});
    }
    for (uint32_t row = 0; row < batch.wanted.size(); ++row) {
        if (batch.wanted[row] != OutputWanted::none) output_rows_.push_back(row);
    }
}

StepOutput CpuExecutable::collect(const StepBatch& batch) {
    const size_t n = output_rows_.size();
    const auto anyone_wants = [&](OutputWanted what) {
        return std::ranges::find(batch.wanted, what) != batch.wanted.end();
    };
    StepOutput output;
    output.rows = output_rows_;
    output.logits = {memory_.rows(program_->logits).data, n * program_->vocab_size};
    if (anyone_wants(OutputWanted::hidden)) {
        output.hidden = {memory_.rows(program_->hidden).data, n * program_->value(program_->hidden).width};
    }
    if (anyone_wants(OutputWanted::argmax)) {
        find_argmax();
        output.argmax = argmax_;
    }
    return output;
}

// Parts of rows side by side, then the parts of each row in order: the lowest id of the highest wins.
void CpuExecutable::find_argmax() {
    const uint32_t vocab = program_->vocab_size, n_parts = (vocab + kArgmaxColumns - 1) / kArgmaxColumns;
    const auto n = static_cast<uint32_t>(output_rows_.size());
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
    const auto last = std::ranges::find(last_run_, sequence, &LastRun::sequence);
    if (last == last_run_.end()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("Sequence {} was not in the last step.", sequence));
    }
    if (rows_kept <= last->n_rows) return {};  // the engine holds the length, and pages need no undoing
    return Status(StatusCode::invalid_argument, fmt::format("Sequence {} ran {} rows, {} can't be kept.",
                                                            sequence, last->n_rows, rows_kept));
}

Status CpuExecutable::copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) {
    if (group >= program_->groups.size()) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("State group {} doesn't exist, the program has {}.", group, program_->groups.size()));
    }
    const uint32_t n_pages = options_.n_pages[group];
    if (from_page >= n_pages || to_page >= n_pages) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("Page {} can't be copied to page {}, group {} has {} pages.", from_page,
                                  to_page, program_->groups[group].name, n_pages));
    }
    const auto copy = [&](AlignedBuffer& buffer) {
        const size_t page_bytes = buffer.size_bytes() / n_pages;
        std::copy_n(buffer.data() + from_page * page_bytes, page_bytes, buffer.data() + to_page * page_bytes);
    };
    for (size_t i = 0; from_page != to_page && i < program_->states.size(); ++i) {
        if (program_->states[i].group != group) continue;
        copy(memory_.all_pages()[i].keys);
        copy(memory_.all_pages()[i].values);
    }
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
