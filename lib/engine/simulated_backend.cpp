// Pages are numbers in tables here: nothing stands behind them, so copies and commits have nothing to do.
#include "engine/simulated_backend.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/step_batch_check.h"

namespace takt {
namespace {

constexpr uint64_t kEndOfTime = uint64_t{1} << 62;  // about 146 years

class NoWeights final : public PackedWeights {
public:
    uint64_t size_bytes() const override { return 0; }
};

class SimulatedExecutable final : public Executable {
public:
    SimulatedExecutable(std::shared_ptr<const Program> program, const CompileOptions& options,
                        const StepCostModel& costs, std::shared_ptr<ManualClock> clock)
        : program_(std::move(program)), options_(options), costs_(costs), clock_(std::move(clock)) {
        rows_.reserve(options.max_output_rows);
        argmax_.assign(options.max_output_rows, 0);
    }

    Result<StepOutput> run(const StepBatch& batch) override {
        TAKT_RETURN_IF_ERROR(check_step_batch(*program_, options_, batch));
        const double step_ns = costs_.step_ns(look_at(batch));
        if (step_ns >= static_cast<double>(kEndOfTime - clock_->now_ns())) {
            return Status(
                StatusCode::invalid_argument,
                fmt::format("A step of {} rows that takes {:.3g} ns would end after {} ns, the last "
                            "moment of a simulation.",
                            batch.tokens.size(), step_ns, kEndOfTime));
        }
        StepOutput output;
        output.rows = rows_;
        output.argmax = std::span<const int32_t>(argmax_).first(rows_.size());
        output.compute_ns = static_cast<uint64_t>(std::llround(step_ns));
        clock_->advance_ns(output.compute_ns);
        return output;
    }
    Status commit(uint64_t /*sequence*/, uint32_t /*rows_kept*/) override { return {}; }
    Status copy_page(uint32_t /*group*/, uint32_t /*from_page*/, uint32_t /*to_page*/) override { return {}; }
    MemoryPlan memory() const override { return {}; }

private:
    // Leaves the rows that give a token in rows_.
    StepLoad look_at(const StepBatch& batch) {
        StepLoad step;
        rows_.clear();
        for (const BatchSequence& sequence : batch.sequences) {
            for (uint32_t i = 0; i < sequence.n_rows; ++i) {
                const uint64_t position = sequence.first_position + i;
                if (batch.wanted[sequence.first_row + i] == OutputWanted::none) {
                    step.prefill_positions += position;
                } else {
                    step.decode_positions += position;
                    rows_.push_back(sequence.first_row + i);
                }
            }
        }
        step.n_rows = static_cast<uint32_t>(batch.tokens.size());
        step.n_output_rows = static_cast<uint32_t>(rows_.size());
        return step;
    }

    const std::shared_ptr<const Program> program_;
    const CompileOptions options_;
    const StepCostModel& costs_;  // the backend's, which outlives it
    const std::shared_ptr<ManualClock> clock_;
    std::vector<uint32_t> rows_;
    std::vector<int32_t> argmax_;
};

class SimulatedBackend final : public Backend {
public:
    SimulatedBackend(StepCostModel costs, std::shared_ptr<ManualClock> clock)
        : costs_(std::move(costs)), clock_(std::move(clock)) {}
    std::string_view name() const override { return kSimulatedBackend; }
    const DeviceInfo& device_info() const override { return info_; }
    Status supports(const Program&) const override { return {}; }
    Result<std::shared_ptr<const PackedWeights>> load_weights(const Program&, const WeightSource&,
                                                              WeightStore&, const LoadOptions&) override {
        return std::shared_ptr<const PackedWeights>(std::make_shared<NoWeights>());
    }
    Result<MemoryPlan> plan(const Program&, const CompileOptions&) const override { return MemoryPlan{}; }
    Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Program> program,
                                                std::shared_ptr<const PackedWeights>,
                                                const CompileOptions& options) override {
        TAKT_RETURN_IF_ERROR(check_compile_options(*program, options));
        return std::unique_ptr<Executable>(
            std::make_unique<SimulatedExecutable>(std::move(program), options, costs_, clock_));
    }

private:
    const StepCostModel costs_;
    const std::shared_ptr<ManualClock> clock_;
    const DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_simulated_backend(StepCostModel costs, std::shared_ptr<ManualClock> clock) {
    return std::make_unique<SimulatedBackend>(std::move(costs), std::move(clock));
}

}  // namespace takt
