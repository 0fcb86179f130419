// The engine's face: requests are checked and given all their memory before they are queued.
#include "engine/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "engine/engine_impl.h"
#include "engine/memory_fit.h"
#include "base/checksum.h"
#include "base/utf8.h"

namespace takt {
namespace {

Status check_ids(std::string_view field, std::span<const int32_t> ids, uint32_t vocab_size) {
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && static_cast<uint32_t>(ids[i]) < vocab_size) continue;
        return Status(StatusCode::invalid_argument, fmt::format("{}[{}] is {}, the vocabulary has {} tokens.",
                                                                field, i, ids[i], vocab_size));
    }
    return {};
}

Status check_stop_strings(const std::vector<std::string>& strings) {
    for (size_t i = 0; i < strings.size(); ++i) {
        if (strings[i].empty())
            return Status(StatusCode::invalid_argument, fmt::format("stop_strings[{}] is empty.", i));
        if (const size_t end = utf8_valid_end(strings[i], 0); end != strings[i].size()) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("stop_strings[{}] is not UTF-8 at byte {}.", i, end));
        }
    }
    return {};
}

Status no_room(size_t n_prompt, uint32_t context_tokens) {
    const std::string_view more =
        n_prompt == context_tokens ? " and the first generated token needs room, " : ", ";
    return Status(StatusCode::prompt_too_long,
                  fmt::format("Prompt has {} tokens{}the context holds {}.", n_prompt, more, context_tokens));
}

// From what differs between engines, processes and machines: an address and the system's clocks.
uint64_t new_identity(const void* engine) {
    const auto wall = std::chrono::system_clock::now().time_since_epoch().count();
    const auto steady = std::chrono::steady_clock::now().time_since_epoch().count();
    const std::array<uint64_t, 3> parts = {reinterpret_cast<uintptr_t>(engine), static_cast<uint64_t>(wall),
                                           static_cast<uint64_t>(steady)};
    return checksum64(std::as_bytes(std::span(parts)));
}

// Memory for events is taken at submit.
constexpr uint32_t kMostSlidingTokens = 1u << 20;

Status check_slide(const RequestOptions& request, uint32_t context_tokens) {
    if (request.context_policy != ContextPolicy::slide) {
        if (request.pinned_tokens == 0) return {};
        return Status(StatusCode::invalid_argument,
                      fmt::format("pinned_tokens is {}, but the context doesn't slide (context_policy).",
                                  request.pinned_tokens));
    }
    if (uint64_t{request.pinned_tokens} + 2 > context_tokens) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("pinned_tokens is {}, the context holds {} and needs 2 others at least.",
                                  request.pinned_tokens, context_tokens));
    }
    if (request.max_tokens <= kMostSlidingTokens) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("max_tokens is {}, a request whose context slides gives {} at most.",
                              request.max_tokens, kMostSlidingTokens));
}

}  // namespace

Engine::Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Engine::~Engine() {
    impl_->worker->stop();
}

Result<Engine::Impl::Compiled> Engine::Impl::compile_program(Backend& chosen, const Model& of,
                                                             const CompileOptions& with,
                                                             const LoadOptions& how) {
    const std::lock_guard turn(runtime->pool_mutex());
    auto weights = chosen.load_weights(*of.program(), of, runtime->weight_store(), how);
    if (!weights.ok()) return weights.status();
    auto executable = chosen.compile(of.program(), *weights, with);
    if (!executable.ok()) return executable.status();
    return Compiled{std::move(*executable), std::move(*weights)};
}

// Null without a draft model.
Result<std::unique_ptr<DraftModel>> Engine::Impl::load_draft(Backend& chosen, const LoadOptions& how) {
    if (!options.draft_model) return std::unique_ptr<DraftModel>();
    const Model& draft = *options.draft_model;
    TAKT_RETURN_IF_ERROR(chosen.supports(*draft.program()));
    const CompileOptions with = make_compile_options(options_of_draft(options), *draft.program());
    auto compiled = compile_program(chosen, draft, with, how);
    if (!compiled.ok()) return compiled.status();
    return std::make_unique<DraftModel>(*runtime, options.draft_model, std::move(compiled->executable), with,
                                        options.prefix_reuse);
}

Status Engine::Impl::load(Backend& chosen, const LoadOptions& how) {
    backend = chosen.name();
    auto compiled = compile_program(chosen, *model, compile, how);
    if (!compiled.ok()) return compiled.status();
    std::unique_ptr<Executable>& executable = compiled->executable;
    kv_dtype = executable->kv_dtype();
    auto draft = load_draft(chosen, how);
    if (!draft.ok()) return draft.status();
    layout = StateLayout::of(*model->program(), model->fingerprint(), executable->kv_dtype());
    memory = executable->memory();
    if (*draft) memory += beside_model((*draft)->memory(), options.draft_model == model);
    std::vector<PagePool> pools;
    for (const uint32_t n_pages : compile.n_pages) pools.emplace_back(n_pages, compile.page_tokens);
    WorkerLimits limits;
    limits.max_sequences = options.max_sequences;
    limits.max_waiting = options.max_waiting;
    limits.chunk_tokens = options.chunk_tokens;
    limits.max_rows = compile.max_rows;
    limits.max_output_rows = compile.max_output_rows;
    limits.step_gap_ns = options.step_gap_ns;
    limits.prefix_reuse = options.prefix_reuse;
    limits.page_tokens = options.page_tokens;
    limits.smooth = options.smooth;
    limits.trace_steps = options.trace_steps;
    limits.costs = cost_table(*compiled->weights);
    WorkerListeners listeners{options.on_step, options.on_slo_miss, callbacks};
    worker = std::make_shared<Worker>(runtime, model, std::move(executable), std::move(*draft),
                                      std::move(pools), limits, signal, std::move(listeners));
    if (options.step_driven) {
        Worker::let_drive(worker);
    } else {
        Worker::start(worker);
    }
    return {};
}

Result<std::shared_ptr<Engine>> Engine::create(std::shared_ptr<Runtime> runtime,
                                               std::shared_ptr<const Model> model,
                                               const EngineOptions& options, const LoadProgress& progress) {
    return without_exceptions("the engine", [&]() -> Result<std::shared_ptr<Engine>> {
        Result<Backend*> backend = runtime->find_backend(options.backend);
        if (!backend.ok()) return backend.status();
        Result<EnginePlan> planned = plan_engine(options, *model, **backend);
        if (!planned.ok()) return planned.status();
        auto impl = std::make_shared<Impl>();
        impl->runtime = runtime;
        impl->model = model;
        impl->options = std::move(planned->options);
        impl->number = runtime->next_engine_number();
        impl->identity = new_identity(impl.get());
        impl->energy_at_begin = runtime->energy().microjoules();
        impl->texts = std::make_shared<const TokenTexts>(*model->tokenizer());
        impl->compile = make_compile_options(impl->options, *model->program());
        TAKT_RETURN_IF_ERROR(impl->load(**backend, {progress, options.packed_cache_dir}));
        return std::shared_ptr<Engine>(new Engine(std::move(impl)));
    });
}

Result<EnginePlan> Engine::plan(Runtime& runtime, const Model& model, const EngineOptions& options) {
    Result<Backend*> backend = runtime.find_backend(options.backend);
    if (!backend.ok()) return backend.status();
    return plan_engine(options, model, **backend);
}

Status Engine::Impl::check(const RequestOptions& request) const {
    if (request.prompt_ids.empty())
        return Status(StatusCode::prompt_empty, "The prompt is empty: it has no tokens.");
    TAKT_RETURN_IF_ERROR(check_ids("prompt_ids", request.prompt_ids, vocab_size()));
    if (request.prompt_ids.size() + (request.max_tokens > 0 ? 1 : 0) > options.context_tokens)
        return no_room(request.prompt_ids.size(), options.context_tokens);
    return check_all_but_prompt(request);
}

Status Engine::Impl::check_all_but_prompt(const RequestOptions& request) const {
    TAKT_RETURN_IF_ERROR(check_slide(request, options.context_tokens));
    TAKT_RETURN_IF_ERROR(check_ids("stop_ids", request.stop_ids, vocab_size()));
    TAKT_RETURN_IF_ERROR(check_range("max_drafts", request.max_drafts, 0, kMaxDrafts));
    if (request.drafts == DraftSource::model && !options.draft_model)
        return Status(StatusCode::invalid_argument, "drafts asks for the draft model, the engine has none.");
    if (request.reject_drafts && options.deterministic)
        return Status(
            StatusCode::invalid_argument,
            "draft_rule is TAKT_DRAFT_RULE_REJECTION, which a deterministic engine doesn't have: tokens "
            "would depend on the drafts.");
    TAKT_RETURN_IF_ERROR(check_stop_strings(request.stop_strings));
    return request.sampler.check(vocab_size());
}

// Null where it doesn't speculate.
std::unique_ptr<Drafts> Engine::Impl::new_drafts(const RequestOptions& request, uint64_t name,
                                                 uint32_t max_total) const {
    const bool by_model = request.drafts == DraftSource::model ||
                          (request.drafts == DraftSource::automatic && options.draft_model);
    if (!by_model && request.drafts != DraftSource::ngram) return nullptr;
    auto drafts = std::make_unique<Drafts>(request.max_drafts == 0 ? kMaxDrafts : request.max_drafts);
    if (by_model) {
        drafts->sequence = worker->draft_model()->new_sequence(name, max_total);
    } else {
        drafts->ngrams = std::make_unique<NgramIndex>(max_total);
    }
    const bool draws = !SamplerOptions(request.sampler).is_greedy();
    if (request.reject_drafts && draws) drafts->make_room_for_probabilities(vocab_size());
    return drafts;
}

// All memory that it will ever need.
std::unique_ptr<RunningRequest> Engine::Impl::make_request(RequestOptions request, uint64_t submitted_ns) {
    const uint64_t n_prompt = request.prompt_ids.size(), cache_key = request.cache_key;
    const uint64_t max_total = std::min<uint64_t>(n_prompt + request.max_tokens, options.context_tokens);
    const bool slides = request.context_policy == ContextPolicy::slide;
    const auto max_events = slides ? request.max_tokens : static_cast<uint32_t>(max_total - n_prompt);
    const uint64_t name = worker->next_sequence();
    const Slo slo = request.slo.value_or(options.slo);
    RequestState::Shared shared{runtime->shared_clock(), callbacks, signal, backend, name, slo};
    auto state =
        std::make_shared<RequestState>(std::move(request), std::move(shared), submitted_ns, max_events);
    // The last token is sampled but never computed.
    const uint64_t n_positions = std::max(n_prompt, max_total - 1);
    const auto total = static_cast<uint32_t>(max_total);
    auto drafts = new_drafts(state->options(), name, total);
    return std::make_unique<RunningRequest>(std::move(state), name, total, vocab_size(), texts,
                                            new_pages(n_positions, cache_key), std::move(drafts));
}

Result<std::unique_ptr<Request>> Engine::submit(RequestOptions options) {
    const uint64_t submitted_ns = options.submitted_ns.value_or(impl_->runtime->clock().now_ns());
    return without_exceptions("the request", [&]() -> Result<std::unique_ptr<Request>> {
        TAKT_RETURN_IF_ERROR(impl_->check(options));
        auto running = impl_->make_request(std::move(options), submitted_ns);
        std::shared_ptr<RequestState> state = running->state;
        auto request = std::make_unique<Request>(nullptr);
        TAKT_RETURN_IF_ERROR(impl_->worker->submit(std::move(running)));
        request->state_ = std::move(state);
        return request;
    });
}

Result<std::unique_ptr<Request>> Engine::generate(RequestOptions options) {
    if (inside_callback()) return waits("generate()");
    const std::function<bool(const Event&)> on_event = std::move(options.on_event);
    options.on_event = nullptr;  // pulled here, so that the callback runs on this thread
    Result<std::unique_ptr<Request>> request = submit(std::move(options));
    // From here on the engine may be destroyed by a callback.
    if (request.ok()) TAKT_RETURN_IF_ERROR((*request)->pump(on_event));
    return request;
}

Status Engine::evaluate(
    std::span<const int32_t> ids, size_t first_position, uint32_t chunk_tokens,
    const std::function<bool(size_t position, std::span<const float> logits)>& on_logits) {
    if (inside_callback()) return waits("evaluate()");
    if (ids.empty()) return Status(StatusCode::prompt_empty, "There are no tokens to evaluate.");
    TAKT_RETURN_IF_ERROR(check_ids("ids", ids, impl_->vocab_size()));
    if (ids.size() > impl_->options.context_tokens) {
        return Status(StatusCode::prompt_too_long, fmt::format("Prompt has {} tokens, the context holds {}.",
                                                               ids.size(), impl_->options.context_tokens));
    }
    if (first_position >= ids.size()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("first_position is {}, there are {} tokens.", first_position, ids.size()));
    }
    const std::shared_ptr<Impl> impl = impl_;  // a callback may destroy the engine
    return without_exceptions("the evaluation", [&]() -> Status {
        const uint32_t most = impl->options.chunk_tokens;
        Evaluation::Plan plan;
        plan.ids.assign(ids.begin(), ids.end());
        plan.first_position = first_position;
        plan.chunk_tokens = chunk_tokens == 0 ? most : std::min(chunk_tokens, most);
        plan.max_outputs = impl->compile.max_output_rows;
        plan.vocab_size = impl->vocab_size();
        plan.sequence = impl->worker->next_sequence();
        const auto evaluation = std::make_shared<Evaluation>(std::move(plan));
        TAKT_RETURN_IF_ERROR(impl->worker->submit({evaluation, impl->new_pages(ids.size())}));
        return evaluation->run(on_logits, *impl->signal, *impl->callbacks);
    });
}

Result<bool> Engine::step() {
    const std::shared_ptr<Worker> worker = impl_->worker;
    if (!impl_->options.step_driven)
        return Status(StatusCode::invalid_state, "The engine has a thread of its own: it isn't step_driven.");
    if (inside_callback()) return Status(StatusCode::invalid_state, "A callback can't step its own engine.");
    TAKT_RETURN_IF_ERROR(impl_->signal->refuse_in_forked_child());
    if (worker->drive(Round::with_step) == Driven::busy)
        return Status(StatusCode::invalid_state, "Another thread is in a step of this engine.");
    return worker->has_requests();
}

void Engine::cancel_all() {
    impl_->worker->cancel_all();
}
void Engine::cancel_all_and_wait() {
    impl_->worker->cancel_all_and_wait();
}
void Engine::stop_telling() {
    impl_->worker->stop_telling();
}
Status Engine::refuse_in_forked_child() const {
    return impl_->signal->refuse_in_forked_child();
}
bool Engine::inside_callback() const {
    return impl_->callbacks->contains_this_thread();
}
std::shared_ptr<const CallbackThreads> Engine::callback_threads() const {
    return impl_->callbacks;
}
uint32_t Engine::context_tokens() const {
    return impl_->options.context_tokens;
}
const MemoryPlan& Engine::memory() const {
    return impl_->memory;
}
EngineStatistics Engine::statistics() const {
    return impl_->worker->board().read();
}
const Model& Engine::model() const {
    return *impl_->model;
}
Runtime& Engine::runtime() const {
    return *impl_->runtime;
}
std::string_view Engine::backend_name() const {
    return impl_->backend;
}

}  // namespace takt
