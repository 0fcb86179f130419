// The engine's face: options to limits, requests checked before they are queued.
#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/worker.h"

namespace takt {

namespace {

constexpr uint32_t kDefaultContext = 4096, kDefaultSequences = 16, kDefaultWaiting = 4096, kDefaultChunk = 512;
constexpr uint32_t kMaxSequences = 4096, kMaxChunk = 16384, kPageTokens = 32;
constexpr uint32_t kOutputRows = 64;   // logits of one step, for evaluate(): bounds scratch where vocabularies are large

// Every 0 filled in, every limit checked.
Result<EngineOptions> resolve(EngineOptions options, const Model& model) {
    const uint32_t trained = model.config().context_tokens;
    if (options.context_tokens == 0) options.context_tokens = std::min(kDefaultContext, trained);
    if (options.max_sequences == 0) options.max_sequences = kDefaultSequences;
    if (options.max_waiting == 0) options.max_waiting = kDefaultWaiting;
    if (options.chunk_tokens == 0) options.chunk_tokens = kDefaultChunk;
    const auto refuse = [](std::string_view field, uint64_t value, uint64_t lowest, uint64_t highest) {
        return Status(StatusCode::invalid_argument, fmt::format("{} is {}, must be {} to {}.", field, value, lowest, highest));
    };
    if (options.context_tokens < 2 || options.context_tokens > trained) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("context_tokens is {}, must be 2 to {}, the model's.", options.context_tokens, trained));
    }
    if (options.max_sequences > kMaxSequences) return refuse("max_sequences", options.max_sequences, 1, kMaxSequences);
    if (options.chunk_tokens > kMaxChunk) return refuse("chunk_tokens", options.chunk_tokens, 1, kMaxChunk);
    options.chunk_tokens = std::min(options.chunk_tokens, options.context_tokens);
    const uint64_t most = uint64_t{options.context_tokens} * options.max_sequences;
    if (options.kv_tokens == 0) options.kv_tokens = uint64_t{options.context_tokens} * std::min(options.max_sequences, 4u);
    if (options.kv_tokens < options.context_tokens || options.kv_tokens > most) {
        return refuse("kv_tokens", options.kv_tokens, options.context_tokens, most);
    }
    return options;
}

CompileOptions compile_options(const EngineOptions& options, const Program& program) {
    CompileOptions out;
    out.max_sequences = options.max_sequences;
    out.max_rows = options.chunk_tokens + options.max_sequences;
    out.max_output_rows = std::max(options.max_sequences, std::min(options.chunk_tokens, kOutputRows));
    out.max_context_tokens = options.context_tokens;
    out.page_tokens = kPageTokens;
    out.deterministic = options.deterministic;
    // As many pages as kv_tokens fill when divided among the fewest requests, and a page of waste for every other.
    const uint64_t n_whole = options.kv_tokens / options.context_tokens, rest = options.kv_tokens % options.context_tokens;
    for (const StateGroup& group : program.groups) {
        uint64_t n = n_whole * worst_case_pages(group, options.context_tokens, kPageTokens, options.chunk_tokens);
        if (rest > 0) n += worst_case_pages(group, rest, kPageTokens, options.chunk_tokens);
        out.n_pages.push_back(static_cast<uint32_t>(n + options.max_sequences - n_whole));
    }
    return out;
}

}  // namespace

struct Engine::Impl {
    std::shared_ptr<Runtime> runtime;
    std::shared_ptr<const Model> model;
    EngineOptions options;
    std::string backend;
    std::shared_ptr<WorkerSignal> signal = std::make_shared<WorkerSignal>();
    std::shared_ptr<CallbackThreads> callbacks = std::make_shared<CallbackThreads>();
    std::unique_ptr<Worker> worker;

    Status check_request(const RequestOptions& request) const;
    std::unique_ptr<SequencePages> new_pages() {
        return std::make_unique<SequencePages>(model->program()->groups, worker->pools(), kPageTokens);
    }
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::shared_ptr<Engine>> Engine::create(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Model> model,
                                               const EngineOptions& options, const LoadProgress& progress) {
    auto resolved = resolve(options, *model);
    if (!resolved.ok()) return resolved.status();
    auto backend = runtime->find_backend(options.backend);
    if (!backend.ok()) return backend.status();
    TAKT_RETURN_IF_ERROR((*backend)->supports(*model->program()));
    const CompileOptions compile = compile_options(*resolved, *model->program());
    std::unique_ptr<Executable> executable;
    {
        const std::lock_guard lock(runtime->pool_mutex());
        auto weights = (*backend)->load_weights(*model->program(), *model, runtime->weight_store(), progress);
        if (!weights.ok()) return weights.status();
        auto compiled = (*backend)->compile(model->program(), std::move(*weights), compile);
        if (!compiled.ok()) return compiled.status();
        executable = std::move(*compiled);
    }
    auto impl = std::make_unique<Impl>();
    impl->runtime = runtime;
    impl->model = model;
    impl->options = *resolved;
    impl->backend = (*backend)->name();
    std::vector<PagePool> pools;
    for (const uint32_t n_pages : compile.n_pages) pools.emplace_back(n_pages);
    WorkerLimits limits;
    limits.max_sequences = resolved->max_sequences;
    limits.max_waiting = resolved->max_waiting;
    limits.chunk_tokens = resolved->chunk_tokens;
    limits.max_output_rows = compile.max_output_rows;
    impl->worker = std::make_unique<Worker>(runtime, model, std::move(executable), std::move(pools), limits, impl->signal);
    return std::shared_ptr<Engine>(new Engine(std::move(impl)));
}

Result<MemoryPlan> Engine::plan(Runtime& runtime, const Model& model, const EngineOptions& options) {
    auto resolved = resolve(options, model);
    if (!resolved.ok()) return resolved.status();
    auto backend = runtime.find_backend(options.backend);
    if (!backend.ok()) return backend.status();
    TAKT_RETURN_IF_ERROR((*backend)->supports(*model.program()));
    return (*backend)->plan(*model.program(), compile_options(*resolved, *model.program()));
}

Status Engine::Impl::check_request(const RequestOptions& request) const {
    const uint32_t vocab_size = model->program()->vocab_size;
    const size_t n_prompt = request.prompt_ids.size();
    if (n_prompt == 0) return Status(StatusCode::prompt_empty, "The prompt is empty: it has no tokens.");
    const auto check_ids = [&](std::string_view field, const std::vector<int32_t>& ids) {
        for (size_t i = 0; i < ids.size(); ++i) {
            if (ids[i] >= 0 && static_cast<uint32_t>(ids[i]) < vocab_size) continue;
            return Status(StatusCode::invalid_argument, fmt::format("{}[{}] is {}, the vocabulary has {} tokens.", field, i, ids[i], vocab_size));
        }
        return Status();
    };
    TAKT_RETURN_IF_ERROR(check_ids("prompt_ids", request.prompt_ids));
    TAKT_RETURN_IF_ERROR(check_ids("stop_ids", request.stop_ids));
    if (n_prompt >= options.context_tokens) {
        return Status(StatusCode::prompt_too_long,
                      fmt::format("Prompt has {} tokens, the context holds {}{}.", n_prompt, options.context_tokens,
                                  n_prompt == options.context_tokens ? " and must leave room for one more" : ""));
    }
    for (size_t i = 0; i < request.stop_strings.size(); ++i) {
        if (request.stop_strings[i].empty()) return Status(StatusCode::invalid_argument, fmt::format("stop_strings[{}] is empty.", i));
    }
    return request.sampler.check(vocab_size);
}

Result<std::unique_ptr<Request>> Engine::submit(RequestOptions options) {
    const uint64_t submitted_ns = impl_->runtime->clock().now_ns();
    TAKT_RETURN_IF_ERROR(impl_->check_request(options));
    const uint32_t context = impl_->options.context_tokens;
    const auto room = static_cast<uint32_t>(context - options.prompt_ids.size());
    const uint32_t max_events = std::min(options.max_tokens, room);
    RequestState::Shared shared{impl_->runtime->shared_clock(), impl_->callbacks, impl_->signal, impl_->backend};
    auto state = std::make_shared<RequestState>(std::move(options), std::move(shared), submitted_ns, max_events);
    auto running = std::make_unique<RunningRequest>(state, impl_->worker->next_sequence(), context, impl_->model->program()->vocab_size,
                                                    impl_->model->tokenizer(), impl_->new_pages());
    TAKT_RETURN_IF_ERROR(impl_->worker->submit(std::move(running)));
    return std::make_unique<Request>(std::move(state));
}

Result<std::unique_ptr<Request>> Engine::generate(RequestOptions options) {
    if (inside_callback()) return Status(StatusCode::invalid_state, "generate waits, and inside a callback nothing may wait.");
    const auto on_event = std::move(options.on_event);
    options.on_event = nullptr;   // pulled here, so that the callback runs on this thread
    auto request = submit(std::move(options));
    if (!request.ok()) return request;
    bool go_on = true;
    while (true) {
        const auto event = (*request)->next(UINT64_MAX);
        if (!event.ok()) return event.status();
        if (on_event && go_on) {
            const CallbackThreads::Scope scope(*impl_->callbacks);
            try {
                go_on = on_event(*event);
            } catch (...) {
                go_on = false;   // a callback that throws wants no more
            }
            if (!go_on) (*request)->cancel();
        } else if (on_event && event->type == EventType::finished) {
            const CallbackThreads::Scope scope(*impl_->callbacks);
            try {
                on_event(*event);
            } catch (...) {
                go_on = false;
            }
        }
        if (event->type == EventType::finished) return request;
    }
}

Status Engine::evaluate(std::span<const int32_t> ids, size_t first_position, uint32_t chunk_tokens,
                        const std::function<bool(size_t position, std::span<const float> logits)>& on_logits) {
    if (inside_callback()) return Status(StatusCode::invalid_state, "evaluate waits, and inside a callback nothing may wait.");
    if (ids.empty()) return Status(StatusCode::prompt_empty, "There are no tokens to evaluate.");
    const uint32_t vocab_size = impl_->model->program()->vocab_size;
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && static_cast<uint32_t>(ids[i]) < vocab_size) continue;
        return Status(StatusCode::invalid_argument, fmt::format("ids[{}] is {}, the vocabulary has {} tokens.", i, ids[i], vocab_size));
    }
    if (ids.size() > impl_->options.context_tokens) {
        return Status(StatusCode::prompt_too_long,
                      fmt::format("Prompt has {} tokens, the context holds {}.", ids.size(), impl_->options.context_tokens));
    }
    if (first_position >= ids.size()) {
        return Status(StatusCode::invalid_argument, fmt::format("first_position is {}, there are {} tokens.", first_position, ids.size()));
    }
    const uint32_t chunk = chunk_tokens == 0 ? impl_->options.chunk_tokens : std::min(chunk_tokens, impl_->options.chunk_tokens);
    const auto evaluation =
        std::make_shared<Evaluation>(ids, first_position, chunk, impl_->worker->next_sequence(), vocab_size, impl_->new_pages());
    impl_->worker->submit(evaluation);
    const Status status = evaluation->run(on_logits, *impl_->signal, *impl_->callbacks);
    evaluation->closed = true;
    impl_->signal->notify();
    return status;
}

bool Engine::inside_callback() const { return impl_->callbacks->contains_this_thread(); }
uint32_t Engine::context_tokens() const { return impl_->options.context_tokens; }
const Model& Engine::model() const { return *impl_->model; }
Runtime& Engine::runtime() const { return *impl_->runtime; }
std::string_view Engine::backend_name() const { return impl_->backend; }

}  // namespace takt
