// What came due is submitted between two steps, as a worker takes what came during the last one; where
// nothing runs, the clock moves on to the next arrival.
#include "engine/simulation.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/engine_options.h"
#include "engine/runtime.h"
#include "engine/simulated_backend.h"

namespace takt {
namespace {

constexpr uint64_t kLastArrival = uint64_t{1} << 60;  // about 36 years
constexpr int kRoundsWithoutStep = 16;

Status check_requests(std::span<const SimulatedRequest> requests, uint32_t context_tokens) {
    uint64_t before = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
        const SimulatedRequest& request = requests[i];
        const auto refuse = [&](StatusCode code, std::string_view field, uint64_t value, std::string why) {
            return Status(code, fmt::format("requests[{}].{} is {}, {}", i, field, value, why));
        };
        if (request.prompt_tokens == 0 || request.output_tokens == 0) {
            return refuse(StatusCode::invalid_argument,
                          request.prompt_tokens == 0 ? "prompt_tokens" : "output_tokens", 0,
                          "must be at least 1.");
        }
        if (request.prompt_tokens >= context_tokens) {
            return refuse(
                StatusCode::prompt_too_long, "prompt_tokens", request.prompt_tokens,
                fmt::format("the context holds {}, the first generated token included.", context_tokens));
        }
        if (request.arrival_ns < before) {
            return refuse(StatusCode::invalid_argument, "arrival_ns", request.arrival_ns,
                          fmt::format("before that of the request in front of it, {}.", before));
        }
        if (request.arrival_ns > kLastArrival) {
            return refuse(StatusCode::invalid_argument, "arrival_ns", request.arrival_ns,
                          fmt::format("must be at most {}.", kLastArrival));
        }
        before = request.arrival_ns;
    }
    return {};
}

class Simulation {
public:
    Simulation(Engine& engine, ManualClock& clock, std::span<const SimulatedRequest> requests,
               const std::function<bool(const SimulatedEnd&)>& on_end)
        : engine_(engine), clock_(clock), requests_(requests), on_end_(on_end) {}

    Status run() {
        int n_idle_rounds = 0;
        while (n_submitted_ < requests_.size() || !live_.empty()) {
            if (live_.empty()) wait_for_arrival();
            TAKT_RETURN_IF_ERROR(submit_due());
            const uint64_t before_ns = clock_.now_ns();
            if (const Result<bool> stepped = engine_.step(); !stepped.ok()) return stepped.status();
            const bool moved = clock_.now_ns() > before_ns || !ended_.empty();
            n_idle_rounds = moved ? 0 : n_idle_rounds + 1;
            if (n_idle_rounds > kRoundsWithoutStep)
                return Status(StatusCode::internal, "The simulated engine computes no step.");
            TAKT_RETURN_IF_ERROR(tell_ended());
        }
        return {};
    }

private:
    void wait_for_arrival() {
        const uint64_t now_ns = clock_.now_ns(), next_ns = requests_[n_submitted_].arrival_ns;
        if (next_ns > now_ns) clock_.advance_ns(next_ns - now_ns);
    }

    Status submit_due() {
        for (; n_submitted_ < requests_.size() && requests_[n_submitted_].arrival_ns <= clock_.now_ns();
             ++n_submitted_) {
            const size_t index = n_submitted_;
            auto request = engine_.submit(options_of(index));
            if (request.ok()) {
                live_.emplace(index, std::move(*request));
            } else if (request.status().code() == StatusCode::queue_full) {
                refused_.push_back(index);
            } else {
                return request.status();
            }
        }
        return {};
    }

    RequestOptions options_of(size_t index) {
        const SimulatedRequest& from = requests_[index];
        RequestOptions options;
        options.prompt_ids.assign(from.prompt_tokens, 0);
        // Its number, digit by digit in front: no two prompts of a page and more begin alike.
        const uint64_t base = engine_.model().program()->vocab_size;
        uint64_t rest = index;
        for (size_t i = 0; i < options.prompt_ids.size() && rest > 0; ++i, rest /= base)
            options.prompt_ids[i] = static_cast<int32_t>(rest % base);
        options.max_tokens = from.output_tokens;
        options.ignore_eos = true;
        options.drafts = DraftSource::none;
        options.submitted_ns = from.arrival_ns;
        options.on_event = [this, index](const Event& event) {
            if (event.type == EventType::finished) ended_.push_back(index);
            return true;
        };
        return options;
    }

    // Handles are destroyed here, not inside their callbacks.
    Status tell_ended() {
        for (const size_t index : refused_) {
            SimulatedEnd end{index, {}, FinishReason::error};
            end.timeline.submitted_ns = requests_[index].arrival_ns;
            end.timeline.finished_ns = end.timeline.submitted_ns;
            end.timeline.prompt_tokens = requests_[index].prompt_tokens;
            TAKT_RETURN_IF_ERROR(tell(end));
        }
        refused_.clear();
        for (const size_t index : ended_) {
            const std::unique_ptr<Request> request = std::move(live_.extract(index).mapped());
            if (const Status status = request->status(); !status.ok()) return status;
            TAKT_RETURN_IF_ERROR(tell({index, request->timeline(), request->finish_reason()}));
        }
        ended_.clear();
        return {};
    }

    Status tell(const SimulatedEnd& end) {
        if (on_end_(end)) return {};
        return Status(StatusCode::cancelled,
                      fmt::format("The simulation was stopped after requests[{}].", end.index));
    }

    Engine& engine_;
    ManualClock& clock_;
    const std::span<const SimulatedRequest> requests_;
    const std::function<bool(const SimulatedEnd&)>& on_end_;
    size_t n_submitted_ = 0;                           // or refused
    std::vector<size_t> ended_, refused_;              // since the last step
    std::map<size_t, std::unique_ptr<Request>> live_;  // goes first: its last callbacks add to ended_
};

}  // namespace

Status simulate(std::shared_ptr<const Model> model, const EngineOptions& options, MeasuredStepCosts costs,
                std::span<const SimulatedRequest> requests,
                const std::function<bool(const SimulatedEnd&)>& on_end) {
    if (options.draft_model)
        return Status(StatusCode::invalid_argument, "draft_model is set; a simulation has no drafts.");
    Result<StepCostModel> model_of_costs = StepCostModel::create(std::move(costs));
    if (!model_of_costs.ok()) return model_of_costs.status();
    const auto clock = std::make_shared<ManualClock>();
    RuntimeOptions runtime_options;
    runtime_options.clock = clock;
    runtime_options.n_threads = 1;
    std::vector<BackendEntry> backends;
    backends.push_back({std::string(kSimulatedBackend),
                        make_simulated_backend(std::move(*model_of_costs), clock), "", StatusCode::ok});
    Result<std::shared_ptr<Runtime>> runtime = Runtime::create(runtime_options, std::move(backends));
    if (!runtime.ok()) return runtime.status();
    EngineOptions own = options;
    own.backend = kSimulatedBackend;
    own.step_driven = true;
    own.memory_limit_bytes = 0;
    own.packed_cache_dir.clear();
    Result<std::shared_ptr<Engine>> engine = Engine::create(*runtime, std::move(model), own);
    if (!engine.ok()) return engine.status();
    TAKT_RETURN_IF_ERROR(check_requests(requests, (*engine)->context_tokens()));
    return Simulation(**engine, *clock, requests, on_end).run();
}

}  // namespace takt
