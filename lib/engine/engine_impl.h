// What an engine is made of, for the files that hold its calls.
#pragma once

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "engine/engine.h"
#include "engine/engine_options.h"
#include "engine/worker.h"
#include "state/state_format.h"

namespace takt {

// Calls body() -> Result or Status; what it throws becomes one.
template <typename Body>
auto without_exceptions(const char* what, Body body) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::out_of_memory, fmt::format("There is not enough memory for {}.", what));
    } catch (const std::length_error&) {
        return Status(StatusCode::out_of_memory, fmt::format("There is not enough memory for {}.", what));
    } catch (const std::system_error& error) {
        return Status(StatusCode::out_of_memory,
                      fmt::format("The system has no thread for {}: {}.", what, error.what()));
    }
}

inline Status waits(std::string_view call) {
    return Status(StatusCode::invalid_state,
                  fmt::format("{} waits, which is not possible inside a callback of the same engine.", call));
}

struct Engine::Impl {
    std::shared_ptr<Runtime> runtime;
    std::shared_ptr<const Model> model;
    EngineOptions options;
    CompileOptions compile;
    std::string backend;
    MemoryPlan memory;
    std::optional<DType> kv_dtype;
    uint64_t identity = 0;         // see Origin
    uint32_t number = 0;           // of the runtime's engines
    uint64_t energy_at_begin = 0;  // microjoules of the runtime's meter
    std::shared_ptr<const TokenTexts> texts;
    std::shared_ptr<WorkerSignal> signal = std::make_shared<WorkerSignal>();
    std::shared_ptr<CallbackThreads> callbacks = std::make_shared<CallbackThreads>();
    std::shared_ptr<Worker> worker;
    Result<StateLayout> layout = Status(StatusCode::internal, "The engine isn't loaded.");

    uint32_t vocab_size() const { return model->program()->vocab_size; }
    Status load(Backend& chosen, const LoadOptions& how);
    struct Compiled {
        std::unique_ptr<Executable> executable;
        std::shared_ptr<const PackedWeights> weights;
    };
    Result<Compiled> compile_program(Backend& chosen, const Model& of, const CompileOptions& with,
                                     const LoadOptions& how);
    std::shared_ptr<const StepCostTable> cost_table(const PackedWeights& weights) const;
    Result<std::unique_ptr<DraftModel>> load_draft(Backend& chosen, const LoadOptions& how);
    std::unique_ptr<Drafts> new_drafts(const RequestOptions& request, uint64_t name,
                                       uint32_t max_total) const;
    Status check(const RequestOptions& request) const;
    Status check_all_but_prompt(const RequestOptions& request) const;
    // engine_report.cpp
    std::string run_conditions() const;
    // options: checked.
    std::unique_ptr<RunningRequest> make_request(RequestOptions request, uint64_t submitted_ns);
    std::unique_ptr<SequencePages> new_pages(uint64_t n_positions, uint64_t cache_key = 0) const {
        return std::make_unique<SequencePages>(model->program()->groups, worker->pools(), compile.page_tokens,
                                               n_positions, options.chunk_tokens, cache_key);
    }
};

}  // namespace takt
