// A backend without arithmetic: the next token is a function of the tokens before it, read back from the
// pages they were written to, so that a wrong block table, a page given twice or a page freed too early shows
// as an error of the step; so does a slot of recurrent state that doesn't hold what is before the first row.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/backend.h"
#include "backend/state_form.h"
#include "backend/step_batch_check.h"
#include "base/clock.h"

namespace takt::test {

// Which token follows, by default: a hash of all before it, among ids [first_id, first_id + n_ids).
struct FakeScript {
    std::function<int32_t(std::span<const int32_t> tokens)> next;
    // Another one for a program, by its address: a draft model's. Null where it has none.
    std::function<std::optional<int32_t>(const Program* program, std::span<const int32_t> tokens)> next_of;
    std::function<Status(const Program* program)> before_run_of;
    std::function<Status(const StepBatch&)> before_run;  // may fail the step, wait, count; nothing by default
    std::function<float(uint64_t sequence, uint32_t position)>
        poison;  // what every logit of the row becomes; NaN leaves it
    int32_t first_id = 32, n_ids = 26;
    std::function<void()> on_copy;     // a page was copied
    uint64_t step_ns = 0, row_ns = 0;  // what a step takes on `clock`
    ManualClock* clock = nullptr;
};

class FakeWeights final : public PackedWeights {
public:
    uint64_t size_bytes() const override { return 1000; }
};

class FakeExecutable final : public Executable {
public:
    FakeExecutable(std::shared_ptr<const Program> program, const CompileOptions& options,
                   const FakeScript& script)
        : program_(std::move(program)), options_(options), script_(script) {
        for (size_t g = 0; g < options.n_pages.size(); ++g)
            slots_.emplace_back(size_t{options.n_pages[g]} * places(g));
        history_.reserve(options.max_context_tokens);
        rows_.reserve(options.max_output_rows);
        argmax_.reserve(options.max_output_rows);
        logits_.resize(size_t{options.max_output_rows} * program_->vocab_size);
    }

    Result<StepOutput> run(const StepBatch& batch) override {
        TAKT_RETURN_IF_ERROR(check_step_batch(*program_, options_, batch));
        if (script_.before_run_of) TAKT_RETURN_IF_ERROR(script_.before_run_of(program_.get()));
        if (script_.before_run) TAKT_RETURN_IF_ERROR(script_.before_run(batch));
        rows_.clear();
        argmax_.clear();
        ran_.clear();
        for (const BatchSequence& sequence : batch.sequences)
            TAKT_RETURN_IF_ERROR(run_sequence(batch, sequence));
        StepOutput output;
        output.rows = rows_;
        output.logits = std::span<const float>(logits_).first(rows_.size() * program_->vocab_size);
        output.argmax = argmax_;
        output.compute_ns = script_.step_ns + script_.row_ns * batch.tokens.size();
        if (script_.clock != nullptr) script_.clock->advance_ns(output.compute_ns);
        return output;
    }
    Status commit(uint64_t sequence, uint32_t rows_kept) override {
        if (program_->recurrent_states.empty()) return {};
        const Ran& ran = ran_.at(sequence);
        if (rows_kept > ran.states.size() || ran.states.size() - rows_kept > kMaxUndoneRows)
            return Status(StatusCode::internal, fmt::format("{} rows can't be kept.", rows_kept));
        for (const auto& [group, slot] : ran.places) {
            if (rows_kept > 0) slots_[group][slot] = ran.states[rows_kept - 1];
        }
        return {};
    }
    Status copy_page(uint32_t group, uint32_t from, uint32_t to) override {
        const size_t n = places(group);
        std::copy_n(slots_[group].begin() + static_cast<ptrdiff_t>(from * n), n,
                    slots_[group].begin() + static_cast<ptrdiff_t>(to * n));
        if (script_.on_copy) script_.on_copy();
        return {};
    }
    std::optional<DType> kv_dtype() const override { return DType::f32; }
    // Each position's slot lies where its first keys would be.
    Status read_state(const StateRange& range, std::span<std::byte> out) override {
        TAKT_RETURN_IF_ERROR(check_state_range(*program_, options_, DType::f32, range, out.size()));
        const size_t bytes_each = out.size() / range.n_positions;
        for (uint32_t i = 0; i < range.n_positions; ++i)
            std::memcpy(out.data() + i * bytes_each, &slot_of(range, i), sizeof(Slot));
        return {};
    }
    Status write_state(const StateRange& range, std::span<const std::byte> in) override {
        TAKT_RETURN_IF_ERROR(check_state_range(*program_, options_, DType::f32, range, in.size()));
        const size_t bytes_each = in.size() / range.n_positions;
        for (uint32_t i = 0; i < range.n_positions; ++i)
            std::memcpy(&slot_of(range, i), in.data() + i * bytes_each, sizeof(Slot));
        return {};
    }
    // The first floats are the slot's entry.
    Status read_recurrent(const RecurrentRange& range, std::span<std::byte> out) override {
        TAKT_RETURN_IF_ERROR(check_recurrent_range(*program_, options_, range, out.size()));
        std::memcpy(out.data(), &slots_[program_->state(range.state).group][range.slot], sizeof(Slot));
        return {};
    }
    Status write_recurrent(const RecurrentRange& range, std::span<const std::byte> in) override {
        TAKT_RETURN_IF_ERROR(check_recurrent_range(*program_, options_, range, in.size()));
        std::memcpy(&slots_[program_->state(range.state).group][range.slot], in.data(), sizeof(Slot));
        return {};
    }
    MemoryPlan memory() const override { return {}; }

private:
    size_t places(size_t group) const { return program_->groups[group].recurrent ? 1 : options_.page_tokens; }
    // What a position's keys and values would depend on: all tokens up to it.
    struct Slot {
        uint64_t prefix = 0;
        uint32_t position = 0;
        int32_t token = -1;
    };
    // Of a sequence in the last run: the state behind each of its rows, and where it goes.
    struct Ran {
        std::vector<Slot> states;
        std::vector<std::pair<uint32_t, uint32_t>> places;  // group, slot
    };
    static uint64_t mix(uint64_t prefix, int32_t token) {
        return (prefix ^ static_cast<uint64_t>(token + 1)) * 1099511628211ull + 1469598103934665603ull;
    }

    Slot& slot_of(const StateRange& range, uint32_t i) {
        const uint32_t position = range.first_position + i;
        const uint32_t page = range.table[position / options_.page_tokens];
        return slots_[program_->state(range.state).group]
                     [size_t{page} * options_.page_tokens + position % options_.page_tokens];
    }
    Slot& slot(uint32_t group, const BatchSequence& sequence, uint32_t position) {
        const uint32_t page = sequence.block_tables[group][position / options_.page_tokens];
        return slots_[group][size_t{page} * options_.page_tokens + position % options_.page_tokens];
    }

    Status begin_recurrent(const BatchSequence& sequence) {
        for (uint32_t g = 0; g < slots_.size(); ++g) {
            if (!program_->groups[g].recurrent) continue;
            const uint32_t slot_index = sequence.block_tables[g][0];
            ran_[sequence.sequence].places.emplace_back(g, slot_index);
            if (sequence.first_position == 0) continue;
            const Slot& found = slots_[g][slot_index];
            const uint32_t last = sequence.first_position - 1;
            if (found.position != last || found.prefix != slot(0, sequence, last).prefix) {
                return Status(StatusCode::internal,
                              fmt::format("Group {}: the slot of sequence {} holds position {} of some text, "
                                          "not {} of this one.",
                                          g, sequence.sequence, found.position, last));
            }
        }
        return {};
    }

    Status run_sequence(const StepBatch& batch, const BatchSequence& sequence) {
        const bool recurrent = !program_->recurrent_states.empty();
        if (recurrent) TAKT_RETURN_IF_ERROR(begin_recurrent(sequence));
        for (uint32_t i = 0; i < sequence.n_rows; ++i) {
            const uint32_t row = sequence.first_row + i, position = sequence.first_position + i;
            for (uint32_t g = 0; g < slots_.size(); ++g) {
                if (program_->groups[g].recurrent) continue;
                const uint64_t before = position == 0 ? 0 : slot(g, sequence, position - 1).prefix;
                const Slot made{mix(before, batch.tokens[row]), position, batch.tokens[row]};
                slot(g, sequence, position) = made;
            }
            if (recurrent) ran_[sequence.sequence].states.push_back(slot(0, sequence, position));
            TAKT_RETURN_IF_ERROR(read_back(sequence, position));
            if (batch.wanted[row] != OutputWanted::none) give_row(sequence.sequence, row, position);
        }
        return {};
    }

    // Every position a row may see must hold what follows from the one before it, the same in all groups.
    // Leaves the tokens of a full group in history_.
    Status read_back(const BatchSequence& sequence, uint32_t position) {
        for (uint32_t g = 0; g < slots_.size(); ++g) {
            if (program_->groups[g].recurrent) continue;
            const uint32_t window = program_->groups[g].window;
            const uint32_t first = first_visible_position(position, window);
            if (window == 0) history_.clear();
            for (uint32_t p = first; p <= position; ++p) {
                const Slot& found = slot(g, sequence, p);
                const bool follows =
                    p == 0 ? found.prefix == mix(0, found.token)
                           : p == first || found.prefix == mix(slot(g, sequence, p - 1).prefix, found.token);
                const bool in_first_group = sequence.block_tables[0][p / options_.page_tokens] != kNoPage;
                const bool same = !in_first_group || found.prefix == slot(0, sequence, p).prefix;
                if (found.position != p || !follows || !same) {
                    return Status(
                        StatusCode::internal,
                        fmt::format("Group {}: position {} of sequence {} holds position {} of another text.",
                                    g, p, sequence.sequence, found.position));
                }
                if (window == 0) history_.push_back(found.token);
            }
        }
        return {};
    }

    int32_t next_token() const {
        if (script_.next_of) {
            if (const std::optional<int32_t> id = script_.next_of(program_.get(), history_)) return *id;
        }
        if (script_.next) return script_.next(history_);
        uint64_t hash = 1469598103934665603ull;
        for (const int32_t token : history_) hash = (hash ^ static_cast<uint64_t>(token)) * 1099511628211ull;
        return script_.first_id + static_cast<int32_t>((hash >> 20) % static_cast<uint64_t>(script_.n_ids));
    }

    // The next token stands out by a few logits, the others slope by id: a draw is not always the highest.
    void give_row(uint64_t sequence, uint32_t row, uint32_t position) {
        const size_t vocab_size = program_->vocab_size;
        const std::span<float> logits =
            std::span<float>(logits_).subspan(rows_.size() * vocab_size, vocab_size);
        const int32_t next = next_token();
        for (size_t id = 0; id < vocab_size; ++id)
            logits[id] = -static_cast<float>((id + position) % 29) * 0.1f;
        logits[static_cast<size_t>(next)] = 4;
        bool finite = true;
        if (script_.poison) {
            const float value = script_.poison(sequence, position);
            finite = value != value;
            if (!finite) std::fill(logits.begin(), logits.end(), value);
        }
        rows_.push_back(row);
        argmax_.push_back(finite ? next : -1);
    }

    std::shared_ptr<const Program> program_;
    CompileOptions options_;
    const FakeScript& script_;
    std::vector<std::vector<Slot>> slots_;  // per group
    std::map<uint64_t, Ran> ran_;           // empty without recurrent state
    std::vector<int32_t> history_;
    std::vector<uint32_t> rows_;
    std::vector<int32_t> argmax_;
    std::vector<float> logits_;
};

class FakeBackend final : public Backend {
public:
    // The script outlives the backend and may be changed between runs.
    explicit FakeBackend(const FakeScript& script) : script_(script) { info_.name = "nothing"; }
    std::string_view name() const override { return "fake"; }
    const DeviceInfo& device_info() const override { return info_; }
    Status supports(const Program&) const override { return {}; }
    Result<std::shared_ptr<const PackedWeights>> load_weights(const Program&, const WeightSource&,
                                                              WeightStore&,
                                                              const LoadOptions& options) override {
        if (options.progress && !options.progress(1000, 1000))
            return Status(StatusCode::cancelled, "The load was cancelled.");
        return std::shared_ptr<const PackedWeights>(std::make_shared<FakeWeights>());
    }
    Result<MemoryPlan> plan(const Program&, const CompileOptions& options) const override {
        MemoryPlan plan{1000, 0, 0};
        for (const uint32_t n_pages : options.n_pages) plan.state_bytes += n_pages;
        return plan;
    }
    Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Program> program,
                                                std::shared_ptr<const PackedWeights>,
                                                const CompileOptions& options) override {
        TAKT_RETURN_IF_ERROR(check_compile_options(*program, options));
        return std::unique_ptr<Executable>(
            std::make_unique<FakeExecutable>(std::move(program), options, script_));
    }

private:
    const FakeScript& script_;
    DeviceInfo info_;
};

}  // namespace takt::test
