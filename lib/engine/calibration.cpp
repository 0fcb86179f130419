// An executable of its own, one sequence, window after window through the same pages.
#include "engine/calibration.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "engine/engine_options.h"

namespace takt {
namespace {

constexpr uint32_t kPageTokens = 32;
// Each row's outputs are computed, so that the head's inputs are counted like all others: logits of a step
// are the largest thing here.
constexpr uint32_t kRowsAStep = 64;

Status check(const CalibrationOptions& options, const Model& model) {
    const ModelConfig& config = model.config();
    TAKT_RETURN_IF_ERROR(check_range("window_tokens", options.window_tokens, 2, config.context_tokens));
    if (options.ids.size() < 2) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("The text has {} tokens, at least 2 are needed.", options.ids.size()));
    }
    for (size_t i = 0; i < options.ids.size(); ++i) {
        if (options.ids[i] >= 0 && static_cast<uint32_t>(options.ids[i]) < config.vocab_size) continue;
        return Status(StatusCode::invalid_argument, fmt::format("Token {} is {}, the vocabulary has {}.", i,
                                                                options.ids[i], config.vocab_size));
    }
    return {};
}

class Calibration {
public:
    Calibration(Runtime& runtime, const Model& model, const CalibrationOptions& options)
        : runtime_(runtime), model_(model), options_(options) {}

    Result<Importance> run() {
        TAKT_RETURN_IF_ERROR(prepare());
        const size_t window = std::min<size_t>(options_.window_tokens, options_.ids.size());
        for (size_t begin = 0; begin + 1 < options_.ids.size(); begin += window) {
            const size_t n = std::min(window, options_.ids.size() - begin);
            TAKT_RETURN_IF_ERROR(run_window(options_.ids.subspan(begin, n), begin));
        }
        for (const auto& [name, sums] : importance_.sums()) {
            if (std::ranges::all_of(sums.squares, [](double sum) { return std::isfinite(sum); })) continue;
            return Status(StatusCode::model_invalid,
                          fmt::format("The inputs of {} aren't all finite.", name));
        }
        return std::move(importance_);
    }

private:
    Status prepare() {
        const Result<Backend*> backend = runtime_.find_backend(options_.backend);
        if (!backend.ok()) return backend.status();
        const Program& program = *model_.program();
        TAKT_RETURN_IF_ERROR((*backend)->supports(program));
        const std::lock_guard turn(runtime_.pool_mutex());
        auto weights = (*backend)->load_weights(program, model_, runtime_.weight_store(), {});
        if (!weights.ok()) return weights.status();
        CompileOptions compile;
        compile.max_rows = compile.max_output_rows = kRowsAStep;
        compile.max_sequences = 1;
        compile.max_context_tokens = options_.window_tokens;
        compile.page_tokens = kPageTokens;
        pages_.resize((options_.window_tokens + kPageTokens - 1) / kPageTokens);
        std::iota(pages_.begin(), pages_.end(), 0u);
        for (const StateGroup& group : program.groups) {
            const size_t n = group.recurrent ? 1 : pages_.size();
            compile.n_pages.push_back(static_cast<uint32_t>(n));
            tables_.push_back(BlockTable(pages_).first(n));
        }
        auto executable = (*backend)->compile(model_.program(), std::move(*weights), compile);
        if (!executable.ok()) return executable.status();
        executable_ = std::move(*executable);
        return executable_->observe_products([this](WeightId id, std::span<const float> rows,
                                                    uint32_t n_rows) {
            const WeightDecl& weight = model_.program()->weight(id);
            for (uint32_t row = 0; row < n_rows; ++row) {
                importance_.add_row(weight.name, rows.subspan(size_t{row} * weight.columns, weight.columns));
            }
        });
    }

    Status run_window(std::span<const int32_t> ids, size_t done) {
        const std::vector<OutputWanted> wanted(kRowsAStep, OutputWanted::argmax);
        for (size_t first = 0; first < ids.size(); first += kRowsAStep) {
            const size_t n = std::min<size_t>(kRowsAStep, ids.size() - first);
            const BatchSequence sequence = {1, 0, static_cast<uint32_t>(n), static_cast<uint32_t>(first),
                                            tables_};
            const StepBatch batch = {ids.subspan(first, n), std::span(wanted).first(n), {&sequence, 1}};
            {
                const Runtime::StepTurn turn(runtime_, n);
                const Result<StepOutput> output = executable_->run(batch);
                if (!output.ok()) return output.status();
                TAKT_RETURN_IF_ERROR(executable_->commit(1, static_cast<uint32_t>(n)));
            }
            if (options_.progress && !options_.progress(done + first + n, options_.ids.size()))
                return Status(StatusCode::cancelled, "Calibration was cancelled by the progress callback.");
        }
        return {};
    }

    Runtime& runtime_;
    const Model& model_;
    const CalibrationOptions& options_;
    std::vector<uint32_t> pages_;
    std::vector<BlockTable> tables_;
    std::unique_ptr<Executable> executable_;
    Importance importance_;
};

}  // namespace

Result<Importance> measure_importance(Runtime& runtime, const Model& model,
                                      const CalibrationOptions& options) {
    TAKT_RETURN_IF_ERROR(check(options, model));
    return Calibration(runtime, model, options).run();
}

}  // namespace takt
