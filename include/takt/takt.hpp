// takt.h as C++ classes: C++17, header only, over takt.h and nothing else. Failures are takt::Error; handles
// are move-only.
//
//   takt::Runtime runtime;
//   takt::Model model(runtime, "model.gguf");
//   takt::Engine engine(model);
//   takt::RequestOptions options;
//   options.prompt = "Once upon a time";
//   options.on_event = [](const takt::Event& event) { std::cout << event.text; return true; };
//   takt_timing timing = engine.generate(options);
//
// An exception thrown by a callback ends the request and comes out of generate(), send(), evaluate() or
// wait().
#ifndef TAKT_TAKT_HPP
#define TAKT_TAKT_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <takt/takt.h>

namespace takt {

// what() is the sentence of takt_last_error().
class Error : public std::runtime_error {
public:
    Error(takt_status status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
    takt_status status() const noexcept { return status_; }

private:
    takt_status status_;
};

// Throws unless the call succeeded.
inline void check(takt_status status) {
    if (status != TAKT_OK) throw Error(status, takt_last_error());
}

// A borrowed run of ids: a vector, array or std::span<const int32_t>.
class Ids {
public:
    Ids() = default;
    Ids(const int32_t* data, std::size_t size) : data_(data), size_(size) {}
    template <typename Container,
              typename = decltype(static_cast<const int32_t*>(std::declval<const Container&>().data()))>
    Ids(const Container& container) : data_(container.data()), size_(container.size()) {}
    const int32_t* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    const int32_t* data_ = nullptr;
    std::size_t size_ = 0;
};

// One event; texts are borrowed until the callback returns or the next pull.
struct Event {
    explicit Event(const takt_event& event)
        : raw(event), text(event.text, event.text_bytes), message(event.message, event.message_bytes) {}
    bool is_token() const noexcept { return raw.type == TAKT_EVENT_TOKEN; }
    bool is_finished() const noexcept { return raw.type == TAKT_EVENT_FINISHED; }

    takt_event raw;  // ids, indices and times
    std::string_view text;
    std::string_view message;
};

// With log or clock set, the Runtime must outlive everything made from it.
struct RuntimeOptions {
    std::function<void(int level, std::string_view text)> log;
    std::function<std::uint64_t()> clock;
    std::string isa_cap;
    std::uint32_t n_threads = 0;
    int log_level = TAKT_LOG_WARNING;
};

struct ModelOptions {
    std::string backend;
    std::function<bool(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress;  // false ends the load
    bool metadata_only = false;
    std::string packed_cache_dir;  // "": none
};

struct QuantizeOptions {
    std::string type;             // "q4_k_m"
    std::string importance_path;  // "": none
    bool requantize = false, pure = false;
    std::function<bool(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress;  // false ends it
};

// Bounds in ns; 0: none.
struct Slo {
    std::uint64_t ttft_ns = 0, tpot_ns = 0, itl_ns = 0, e2e_ns = 0;

    takt_slo c() const { return {sizeof(takt_slo), ttft_ns, tpot_ns, itl_ns, e2e_ns}; }
};

struct EngineOptions {
    std::string backend;
    std::uint32_t context_tokens = 0;
    std::uint32_t max_sequences = 0;
    std::uint32_t max_waiting = 0;
    std::uint32_t chunk_tokens = 0;
    std::uint64_t kv_tokens = 0;
    bool deterministic = false;
    std::uint32_t kv_type = TAKT_KV_DEFAULT;
    std::uint64_t step_gap_ns = 0;
    bool prefix_reuse = true;
    std::uint32_t page_tokens = 0;
    std::uint64_t memory_limit_bytes = 0;
    std::function<void(const takt_step&)> on_step;  // on the engine's thread; what it throws ends the calls
    bool step_driven = false;                       // see Engine::step()
    const takt_model* draft_model = nullptr;        // Model::get() of a small one
    std::string name;                               // label of its numbers; "": a number
    std::optional<Slo> slo;                         // of requests without one of their own
    std::function<void(const takt_slo_miss&)> on_slo_miss;  // as on_step
    double smooth_seconds_per_token = 0, smooth_alpha = 0;  // 0: 0.2 and 2.5
    std::uint32_t smooth_origin = TAKT_ORIGIN_ARRIVAL;
    std::uint32_t trace_steps = 0;  // see Engine::trace()
};

// Rows and ns of measured steps; see takt_step_costs.
struct StepCosts {
    std::vector<takt_step_cost> decode;
    std::vector<takt_step_cost> prefill;
    double decode_position_ns = 0;
    double prefill_position_ns = 0;
};

struct RequestOptions {
    std::optional<std::string> prompt;  // or prompt_ids
    std::vector<int32_t> prompt_ids;
    std::uint32_t prompt_flags = TAKT_ADD_SPECIAL;
    std::vector<std::string> stop_strings;
    std::vector<int32_t> stop_ids;
    std::vector<std::pair<int32_t, float>> logit_bias;
    std::function<bool(const Event&)> on_event;  // false cancels
    std::uint64_t seed = 0;
    std::uint64_t deadline_ns = 0;
    std::uint32_t max_tokens = 256;
    float temperature = 0;
    std::uint32_t top_k = 0;
    float top_p = 1;
    float min_p = 0;
    float repetition_penalty = 1;
    float frequency_penalty = 0;
    float presence_penalty = 0;
    std::uint32_t penalty_tokens = 64;
    bool ignore_eos = false;
    std::int32_t priority = 0;
    std::uint32_t drafts = TAKT_DRAFTS_DEFAULT;
    std::uint32_t max_drafts = 0;
    std::uint32_t draft_rule = TAKT_DRAFT_RULE_MATCH;
    bool keep_state = false;  // for Request::fork() and export_state(), while the Request lives
    std::uint32_t context_policy = TAKT_CONTEXT_STOP;
    std::uint32_t pinned_tokens = 0;
    std::optional<Slo> slo;  // the engine's if none
    std::uint32_t turn = 0;  // of its conversation, for statistics
};

namespace detail {

template <typename Handle, auto destroy>
struct Destroy {
    void operator()(Handle* handle) const noexcept { static_cast<void>(destroy(handle)); }
};
template <typename Handle, auto destroy>
using Owned = std::unique_ptr<Handle, Destroy<Handle, destroy>>;

// A progress callback across the C border: what it throws is kept until the call is over.
struct Progress {
    const std::function<bool(std::uint64_t done_bytes, std::uint64_t total_bytes)>* report;
    std::exception_ptr thrown;
};
inline int32_t call_progress(void* user_data, std::uint64_t done, std::uint64_t total) {
    auto* self = static_cast<Progress*>(user_data);
    try {
        return (*self->report)(done, total) ? TAKT_CONTINUE : TAKT_STOP;
    } catch (...) {
        self->thrown = std::current_exception();
        return TAKT_STOP;
    }
}

inline const char* or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
}

// Calls twice: for the size, then for the bytes. Text whose size changes in between is asked for again.
template <typename Buffer, typename Call>
Buffer fetch(Call call) {
    Buffer buffer;
    std::size_t size = 0;
    check(call(nullptr, std::size_t{0}, &size));
    for (;;) {
        buffer.resize(size);
        const takt_status status = call(buffer.data(), buffer.size(), &size);
        if (status == TAKT_ERROR_BUFFER_TOO_SMALL) continue;
        check(status);
        buffer.resize(size);
        return buffer;
    }
}

// A callback and what it threw; user_data of the C callbacks.
struct EventCall {
    std::function<bool(const Event&)> on_event;
    std::exception_ptr thrown;
    std::shared_ptr<EventCall> self;  // of an asynchronous request: held until its last callback is over

    static void release(void* user_data) {
        std::shared_ptr<EventCall> last = std::move(static_cast<EventCall*>(user_data)->self);
    }
    static int32_t call(void* user_data, const takt_event* event) {
        auto* self = static_cast<EventCall*>(user_data);
        try {
            return self->on_event(Event(*event)) ? TAKT_CONTINUE : TAKT_STOP;
        } catch (...) {
            self->thrown = std::current_exception();
            return TAKT_STOP;
        }
    }
    void rethrow() {
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    }
};

// The C struct with everything it points to.
class CRequest {
public:
    CRequest(const RequestOptions& from, EventCall& call) {
        check(takt_request_options_init(&options, sizeof options));
        set_texts(from);
        for (const auto& bias : from.logit_bias) {
            bias_ids_.push_back(bias.first);
            bias_values_.push_back(bias.second);
        }
        options.logit_bias_ids = bias_ids_.data();
        options.logit_bias_values = bias_values_.data();
        options.logit_bias_count = bias_ids_.size();
        options.seed = from.seed;
        options.deadline_ns = from.deadline_ns;
        options.prompt_flags = from.prompt_flags;
        options.max_tokens = from.max_tokens;
        options.temperature = from.temperature;
        options.top_k = from.top_k;
        options.top_p = from.top_p;
        options.min_p = from.min_p;
        options.repetition_penalty = from.repetition_penalty;
        options.frequency_penalty = from.frequency_penalty;
        options.presence_penalty = from.presence_penalty;
        options.penalty_tokens = from.penalty_tokens;
        options.ignore_eos = from.ignore_eos ? 1 : 0;
        options.priority = from.priority;
        options.drafts = from.drafts;
        options.max_drafts = from.max_drafts;
        options.draft_rule = from.draft_rule;
        options.keep_state = from.keep_state ? 1 : 0;
        options.context_policy = from.context_policy;
        options.pinned_tokens = from.pinned_tokens;
        options.turn = from.turn;
        if (from.slo) {
            slo_ = from.slo->c();
            options.slo = &slo_;
        }
        if (call.on_event) options.on_event = &EventCall::call;
        if (call.self) options.on_release = &EventCall::release;
        options.user_data = &call;
    }
    CRequest(const CRequest&) = delete;
    CRequest& operator=(const CRequest&) = delete;

    takt_request_options options;

private:
    void set_texts(const RequestOptions& from) {
        if (from.prompt) {
            options.prompt = from.prompt->data();
            options.prompt_bytes = from.prompt->size();
        }
        if (!from.prompt_ids.empty()) options.prompt_ids = from.prompt_ids.data();
        options.prompt_ids_count = from.prompt_ids.size();
        for (const std::string& stop : from.stop_strings) stops_.push_back(stop.c_str());
        options.stop_strings = stops_.data();
        options.stop_strings_count = stops_.size();
        options.stop_ids = from.stop_ids.data();
        options.stop_ids_count = from.stop_ids.size();
    }
    takt_slo slo_{};
    std::vector<const char*> stops_;
    std::vector<int32_t> bias_ids_;
    std::vector<float> bias_values_;
};

// A callback for bytes and what it threw.
template <typename Function>
struct BytesCall {
    Function& function;
    std::exception_ptr thrown;

    template <typename Bytes>
    int32_t run(Bytes* bytes, std::size_t size) {
        try {
            return function(bytes, size) ? TAKT_CONTINUE : TAKT_STOP;
        } catch (...) {
            thrown = std::current_exception();
            return TAKT_STOP;
        }
    }
};

inline takt_timing empty_timing() {
    takt_timing timing{};
    timing.struct_size = sizeof timing;
    return timing;
}

inline takt_transfer empty_transfer() {
    takt_transfer transfer{};
    transfer.struct_size = sizeof transfer;
    return transfer;
}

}  // namespace detail

class Runtime {
public:
    explicit Runtime(RuntimeOptions options = {})
        : options_(std::make_unique<RuntimeOptions>(std::move(options))) {
        takt_runtime_options c;
        check(takt_runtime_options_init(&c, sizeof c));
        if (options_->log) {
            c.log = [](void* user_data, int32_t level, const char* text, std::size_t bytes) {
                static_cast<RuntimeOptions*>(user_data)->log(level, std::string_view(text, bytes));
            };
            c.log_user_data = options_.get();
        }
        if (options_->clock) {
            c.clock = [](void* user_data) { return static_cast<RuntimeOptions*>(user_data)->clock(); };
            c.clock_user_data = options_.get();
        }
        c.isa_cap = detail::or_null(options_->isa_cap);
        c.n_threads = options_->n_threads;
        c.log_level = options_->log_level;
        takt_runtime* handle = nullptr;
        check(takt_runtime_create(&c, &handle));
        handle_.reset(handle);
    }

    std::uint64_t now_ns() const noexcept { return takt_runtime_now_ns(handle_.get()); }
    std::uint32_t thread_count() const noexcept { return takt_runtime_thread_count(handle_.get()); }
    // Threads of prefill and of decode steps; 0: all.
    void set_threads(std::uint32_t n_prefill, std::uint32_t n_decode) const {
        check(takt_runtime_set_threads(handle_.get(), n_prefill, n_decode));
    }
    std::vector<takt_backend_info> backends() const {
        std::vector<takt_backend_info> list(takt_backend_count(handle_.get()));
        for (std::size_t i = 0; i < list.size(); ++i) {
            list[i].struct_size = sizeof list[i];
            check(takt_backend_get(handle_.get(), i, &list[i]));
        }
        return list;
    }
    // Writes a model file in another type.
    takt_quantize_result quantize(const std::string& input, const std::string& output,
                                  const QuantizeOptions& options) const {
        takt_quantize_options c;
        check(takt_quantize_options_init(&c, sizeof c));
        c.input_path = input.c_str();
        c.output_path = output.c_str();
        c.type = options.type.c_str();
        c.importance_path = detail::or_null(options.importance_path);
        c.requantize = options.requantize ? 1 : 0;
        c.pure = options.pure ? 1 : 0;
        detail::Progress progress{&options.progress, nullptr};
        if (options.progress) {
            c.progress = detail::call_progress;
            c.progress_user_data = &progress;
        }
        takt_quantize_result result{};
        result.struct_size = sizeof result;
        const takt_status status = takt_quantize(get(), &c, &result);
        if (progress.thrown) std::rethrow_exception(progress.thrown);
        check(status);
        return result;
    }
    takt_runtime* get() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<RuntimeOptions> options_;
    detail::Owned<takt_runtime, takt_runtime_destroy> handle_;
};

class Model {
public:
    Model(const Runtime& runtime, const std::string& path, const ModelOptions& options = {}) {
        load(runtime, options, [&](takt_model_options& c) { c.path = path.c_str(); });
    }
    // bytes: borrowed until the model and everything made from it is gone.
    Model(const Runtime& runtime, const void* bytes, std::size_t size, const ModelOptions& options = {}) {
        load(runtime, options, [&](takt_model_options& c) { c.memory = bytes, c.memory_bytes = size; });
    }
    // The descriptor is duplicated. length 0: to the end of the file.
    static Model from_descriptor(const Runtime& runtime, int descriptor, std::uint64_t offset,
                                 std::uint64_t length, const ModelOptions& options = {}) {
        Model model;
        model.load(runtime, options, [&](takt_model_options& c) {
            c.descriptor = descriptor, c.descriptor_offset = offset, c.descriptor_length = length;
        });
        return model;
    }

    takt_model_info info() const {
        takt_model_info info{};
        info.struct_size = sizeof info;
        check(takt_model_get_info(get(), &info));
        return info;
    }
    std::string inspect() const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_model_inspect(get(), out, n, size);
        });
    }
    std::string program() const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_model_program(get(), out, n, size);
        });
    }
    takt_memory_plan plan(const EngineOptions& options = {}) const;
    // Writes the importance of columns over these tokens, for QuantizeOptions. window_tokens 0: a default.
    void calibrate(const std::vector<std::int32_t>& ids, const std::string& path,
                   std::uint32_t window_tokens = 0,
                   const std::function<bool(std::uint64_t done, std::uint64_t total)>& report = {}) const {
        detail::Progress progress{&report, nullptr};
        const takt_status status =
            takt_model_calibrate(get(), ids.data(), ids.size(), window_tokens, path.c_str(),
                                 report ? detail::call_progress : nullptr, &progress);
        if (progress.thrown) std::rethrow_exception(progress.thrown);
        check(status);
    }
    // JSON; its keys are at takt_model_profile().
    std::string profile(takt_profile_options options = TAKT_PROFILE_OPTIONS_INIT) const {
        std::string text;
        check(takt_model_profile(
            get(), &options,
            [](void* out, const char* json, std::size_t bytes) {
                static_cast<std::string*>(out)->assign(json, bytes);
            },
            &text));
        return text;
    }
    // on_request: once for each request, in the order in which they end; false ends the simulation, which is
    // an Error with TAKT_ERROR_CANCELLED.
    void simulate(const EngineOptions& options, const StepCosts& costs,
                  const std::vector<takt_simulated_request>& requests,
                  const std::function<bool(std::size_t index, const takt_timing& timing)>& on_request) const;
    std::vector<int32_t> tokenize(std::string_view text, std::uint32_t flags = TAKT_ADD_SPECIAL) const {
        return detail::fetch<std::vector<int32_t>>([&](int32_t* out, std::size_t n, std::size_t* size) {
            return takt_model_tokenize(get(), text.data(), text.size(), flags, out, n, size);
        });
    }
    std::string detokenize(Ids ids, bool keep_special = false) const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_model_detokenize(get(), ids.data(), ids.size(), keep_special ? 1 : 0, out, n, size);
        });
    }
    // json: {"messages":[…], "tools":[…]}
    std::string render_chat(std::string_view json, bool add_generation_prompt = true) const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_model_render_chat(get(), json.data(), json.size(), add_generation_prompt ? 1 : 0, out,
                                          n, size);
        });
    }
    takt_model* get() const noexcept { return handle_.get(); }

private:
    Model() = default;
    template <typename SetSource>
    void load(const Runtime& runtime, const ModelOptions& options, SetSource set_source) {
        takt_model_options c;
        check(takt_model_options_init(&c, sizeof c));
        set_source(c);
        c.backend = detail::or_null(options.backend);
        c.metadata_only = options.metadata_only ? 1 : 0;
        c.packed_cache_dir = detail::or_null(options.packed_cache_dir);
        detail::Progress progress{&options.progress, nullptr};
        if (options.progress) {
            c.progress = detail::call_progress;
            c.progress_user_data = &progress;
        }
        takt_model* handle = nullptr;
        const takt_status status = takt_model_load(runtime.get(), &c, &handle);
        handle_.reset(handle);
        if (progress.thrown) std::rethrow_exception(progress.thrown);
        check(status);
    }

    detail::Owned<takt_model, takt_model_destroy> handle_;
};

// An asynchronous request. Destroying it cancels it and returns after its last callback.
class Request {
public:
    // The next event, if on_event wasn't set; nothing after the time-out.
    std::optional<Event> next(std::uint64_t timeout_ns = UINT64_MAX) {
        takt_event event{};
        event.struct_size = sizeof event;
        const takt_status status = takt_request_next(get(), timeout_ns, &event);
        if (status == TAKT_ERROR_TIMED_OUT) return std::nullopt;
        check(status);
        return Event(event);
    }
    // False after the time-out. Rethrows what the callback threw.
    bool wait(std::uint64_t timeout_ns = UINT64_MAX) {
        const takt_status status = takt_request_wait(get(), timeout_ns);
        if (status == TAKT_ERROR_TIMED_OUT) return false;
        check(status);
        call_->rethrow();
        return true;
    }
    void cancel() { check(takt_request_cancel(get())); }
    takt_status status() const { return takt_request_status(get(), nullptr); }
    std::string message() const {
        const char* text = "";
        static_cast<void>(takt_request_status(get(), &text));
        return text;
    }
    takt_timing timing() const {
        takt_timing timing = detail::empty_timing();
        check(takt_request_timing(get(), &timing));
        return timing;
    }
    std::vector<int32_t> prompt_ids() const {
        return detail::fetch<std::vector<int32_t>>([&](int32_t* out, std::size_t n, std::size_t* size) {
            return takt_request_prompt_ids(get(), out, n, size);
        });
    }
    // A request of the same engine that begins with the first n_tokens (0: all so far) of this one's. Also in
    // callbacks.
    Request fork(const RequestOptions& options, std::uint32_t n_tokens = 0) const {
        return start(options, [&](const takt_request_options* c, takt_request** out) {
            return takt_request_fork(get(), c, n_tokens, out);
        });
    }
    // write(bytes, size) runs on this thread; false stops, which throws TAKT_ERROR_CANCELLED.
    takt_transfer export_state(const std::function<bool(const void*, std::size_t)>& write) const {
        detail::BytesCall<const std::function<bool(const void*, std::size_t)>> call{write, nullptr};
        takt_transfer transfer = detail::empty_transfer();
        const auto trampoline = [](void* user_data, const void* bytes, std::size_t size) -> int32_t {
            return static_cast<decltype(call)*>(user_data)->run(bytes, size);
        };
        const takt_status status = takt_request_export(get(), trampoline, &call, &transfer);
        if (call.thrown) std::rethrow_exception(call.thrown);
        check(status);
        return transfer;
    }
    // Its number among those of its engine.
    std::uint64_t id() const noexcept { return takt_request_id(get()); }
    takt_request* get() const noexcept { return handle_.get(); }

private:
    friend class Engine;
    Request() = default;

    // queue(options, out_request) is a call of takt.h.
    template <typename Queue>
    static Request start(const RequestOptions& options, Queue queue) {
        Request request;
        request.call_ =
            std::make_shared<detail::EventCall>(detail::EventCall{options.on_event, nullptr, nullptr});
        request.call_->self = request.call_;
        const detail::CRequest c(options, *request.call_);
        takt_request* handle = nullptr;
        const takt_status status = queue(&c.options, &handle);
        if (status != TAKT_OK) request.call_->self.reset();  // on_release won't come
        check(status);
        request.handle_.reset(handle);
        return request;
    }

    std::shared_ptr<detail::EventCall> call_;
    detail::Owned<takt_request, takt_request_destroy> handle_;
};

// What an engine did up to a moment, or between two, or several did. Immutable; belongs to nobody else.
class Snapshot {
public:
    static Snapshot from_bytes(const void* data, std::size_t size) {
        return make([&](takt_snapshot** out) { return takt_snapshot_import(data, size, out); });
    }
    // What happened since an earlier one of the same engine.
    Snapshot since(const Snapshot& earlier) const {
        return make([&](takt_snapshot** out) { return takt_snapshot_difference(get(), earlier.get(), out); });
    }
    // Two engines together.
    Snapshot merged_with(const Snapshot& other) const {
        return make([&](takt_snapshot** out) { return takt_snapshot_merge(get(), other.get(), out); });
    }
    takt_totals totals() const {
        takt_totals totals{};
        totals.struct_size = sizeof totals;
        check(takt_snapshot_totals(get(), &totals));
        return totals;
    }
    // metric: a name of takt_metric_get(), "ttft"; throws std::invalid_argument for another.
    takt_histogram histogram(std::string_view metric) const {
        takt_histogram histogram{};
        histogram.struct_size = sizeof histogram;
        check(takt_snapshot_histogram(get(), index_of(metric), &histogram));
        return histogram;
    }
    // NaN without samples.
    double percentile(std::string_view metric, double part,
                      std::uint32_t rule = TAKT_PERCENTILE_NEAREST_RANK) const {
        double value = 0;
        check(takt_snapshot_percentile(get(), index_of(metric), part, rule, &value, nullptr));
        return value;
    }
    std::string json() const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_snapshot_json(get(), out, n, size);
        });
    }
    std::string prometheus() const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_snapshot_prometheus(get(), out, n, size);
        });
    }
    std::string to_bytes() const {
        return detail::fetch<std::string>([&](char* out, std::size_t n, std::size_t* size) {
            return takt_snapshot_export(get(), out, n, size);
        });
    }
    takt_snapshot* get() const noexcept { return handle_.get(); }

    static std::vector<takt_metric_info> metrics() {
        std::vector<takt_metric_info> list(takt_metric_count());
        for (std::size_t i = 0; i < list.size(); ++i) {
            list[i].struct_size = sizeof list[i];
            check(takt_metric_get(i, &list[i]));
        }
        return list;
    }

private:
    friend class Engine;
    Snapshot() = default;
    template <typename Call>
    static Snapshot make(Call call) {
        takt_snapshot* handle = nullptr;
        check(call(&handle));
        Snapshot snapshot;
        snapshot.handle_.reset(handle);
        return snapshot;
    }
    static std::size_t index_of(std::string_view metric) {
        const std::vector<takt_metric_info> all = metrics();
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (metric == all[i].name) return i;
        }
        throw std::invalid_argument("There is no metric " + std::string(metric) + ".");
    }

    detail::Owned<takt_snapshot, takt_snapshot_destroy> handle_;
};

// The bounds of a preset by name, "guidellm-chat"; nothing for a name that isn't one.
inline std::optional<Slo> slo_preset(std::string_view name) {
    for (std::size_t i = 0; i < takt_slo_preset_count(); ++i) {
        takt_slo_preset preset{};
        preset.struct_size = sizeof preset;
        check(takt_slo_preset_get(i, &preset));
        if (name == preset.name)
            return Slo{preset.slo.ttft_ns, preset.slo.tpot_ns, preset.slo.itl_ns, preset.slo.e2e_ns};
    }
    return std::nullopt;
}

class Engine {
public:
    explicit Engine(const Model& model, const EngineOptions& options = {}) {
        takt_engine_options c = to_c(options);
        const takt_slo slo = options.slo.value_or(Slo{}).c();
        if (options.slo) c.slo = &slo;
        parts_ = std::make_unique<Parts>();
        if (options.on_slo_miss) {
            parts_->on_slo_miss = options.on_slo_miss;
            c.on_slo_miss = [](void* user_data, const takt_slo_miss* miss) {
                static_cast<Parts*>(user_data)->on_slo_miss(*miss);
            };
            c.slo_user_data = parts_.get();
        }
        if (options.on_step) {
            parts_->on_step = options.on_step;
            c.on_step = [](void* user_data, const takt_step* step) {
                static_cast<Parts*>(user_data)->on_step(*step);
            };
            c.step_user_data = parts_.get();
        }
        takt_engine* handle = nullptr;
        check(takt_engine_create(model.get(), &c, &handle));
        parts_->handle.reset(handle);
    }

    std::uint32_t context_tokens() const noexcept { return takt_engine_context_tokens(get()); }
    // Thread-safe.
    takt_engine_statistics statistics() const {
        takt_engine_statistics statistics{};
        statistics.struct_size = sizeof statistics;
        check(takt_engine_get_statistics(get(), &statistics));
        return statistics;
    }
    // Thread-safe.
    Snapshot snapshot() const {
        return Snapshot::make([&](takt_snapshot** out) { return takt_engine_snapshot(get(), out); });
    }
    // JSON for ui.perfetto.dev or chrome://tracing: the last trace_steps steps. Thread-safe.
    std::string trace() const {
        std::string text;
        check(takt_engine_trace(
            get(),
            [](void* out, const char* json, std::size_t bytes) {
                static_cast<std::string*>(out)->assign(json, bytes);
            },
            &text));
        return text;
    }
    // on_event runs on this thread.
    takt_timing generate(const RequestOptions& options) {
        detail::EventCall call{options.on_event, nullptr, nullptr};
        const detail::CRequest c(options, call);
        takt_timing timing = detail::empty_timing();
        const takt_status status = takt_engine_generate(get(), &c.options, &timing);
        call.rethrow();
        check(status);
        return timing;
    }
    // on_event runs on the engine's thread; without it events are pulled.
    Request submit(const RequestOptions& options) {
        return Request::start(options, [&](const takt_request_options* c, takt_request** out) {
            return takt_engine_submit(get(), c, out);
        });
    }
    // A request that goes on where an exported one was. read(out, size) fills all bytes, on this thread;
    // false stops, which throws TAKT_ERROR_STATE_CORRUPT. transfer: filled, if given.
    Request import_state(const std::function<bool(void*, std::size_t)>& read, const RequestOptions& options,
                         takt_transfer* transfer = nullptr) {
        detail::BytesCall<const std::function<bool(void*, std::size_t)>> call{read, nullptr};
        takt_transfer own = detail::empty_transfer();
        const auto trampoline = [](void* user_data, void* bytes, std::size_t size) -> int32_t {
            return static_cast<decltype(call)*>(user_data)->run(bytes, size);
        };
        try {
            return Request::start(options, [&](const takt_request_options* c, takt_request** out) {
                const takt_status status = takt_engine_import(get(), trampoline, &call, c, &own, out);
                if (transfer != nullptr) *transfer = own;
                return status;
            });
        } catch (const Error&) {
            if (call.thrown) std::rethrow_exception(call.thrown);
            throw;
        }
    }
    // Ends everything that was submitted before, blocking calls of other threads included. Thread-safe.
    void cancel_all() { check(takt_engine_cancel_all(get())); }
    // One round of a step-driven engine on this thread; true while requests run or wait.
    bool step() {
        std::uint32_t has_work = 0;
        check(takt_engine_step(get(), &has_work));
        return has_work != 0;
    }
    // on_logits(position, logits, vocab_size) runs on this thread; false stops, which throws
    // TAKT_ERROR_CANCELLED.
    void evaluate(Ids ids, std::size_t first_position, std::uint32_t chunk_tokens,
                  const std::function<bool(std::size_t, const float*, std::size_t)>& on_logits) {
        struct Call {
            const std::function<bool(std::size_t, const float*, std::size_t)>* on_logits;
            std::exception_ptr thrown;
        } call{&on_logits, nullptr};
        const auto trampoline = [](void* user_data, std::size_t position, const float* logits,
                                   std::size_t n) -> int32_t {
            auto* self = static_cast<Call*>(user_data);
            try {
                return (*self->on_logits)(position, logits, n) ? TAKT_CONTINUE : TAKT_STOP;
            } catch (...) {
                self->thrown = std::current_exception();
                return TAKT_STOP;
            }
        };
        const takt_status status = takt_engine_evaluate(get(), ids.data(), ids.size(), first_position,
                                                        chunk_tokens, trampoline, &call);
        if (call.thrown) std::rethrow_exception(call.thrown);
        check(status);
    }
    takt_engine* get() const noexcept { return parts_ ? parts_->handle.get() : nullptr; }

    static takt_engine_options to_c(const EngineOptions& options) {
        takt_engine_options c;
        check(takt_engine_options_init(&c, sizeof c));
        c.backend = detail::or_null(options.backend);  // borrowed from options
        c.context_tokens = options.context_tokens;
        c.max_sequences = options.max_sequences;
        c.max_waiting = options.max_waiting;
        c.chunk_tokens = options.chunk_tokens;
        c.kv_tokens = options.kv_tokens;
        c.deterministic = options.deterministic ? 1 : 0;
        c.kv_type = options.kv_type;
        c.step_gap_ns = options.step_gap_ns;
        c.no_prefix_reuse = options.prefix_reuse ? 0 : 1;
        c.page_tokens = options.page_tokens;
        c.memory_limit_bytes = options.memory_limit_bytes;
        c.draft_model = options.draft_model;
        c.step_driven = options.step_driven ? 1 : 0;
        c.name = detail::or_null(options.name);  // borrowed from options, too
        c.smooth_seconds_per_token = options.smooth_seconds_per_token;
        c.smooth_alpha = options.smooth_alpha;
        c.smooth_origin = options.smooth_origin;
        c.trace_steps = options.trace_steps;
        return c;
    }

private:
    // The engine goes before the function it calls.
    struct Parts {
        std::function<void(const takt_step&)> on_step;
        std::function<void(const takt_slo_miss&)> on_slo_miss;
        detail::Owned<takt_engine, takt_engine_destroy> handle;
    };
    std::unique_ptr<Parts> parts_;
};

inline takt_memory_plan Model::plan(const EngineOptions& options) const {
    const takt_engine_options c = Engine::to_c(options);
    takt_memory_plan plan{};
    plan.struct_size = sizeof plan;
    check(takt_model_plan(get(), &c, &plan));
    return plan;
}

inline void Model::simulate(
    const EngineOptions& options, const StepCosts& costs, const std::vector<takt_simulated_request>& requests,
    const std::function<bool(std::size_t index, const takt_timing& timing)>& on_request) const {
    struct Call {
        const EngineOptions& options;
        const std::function<bool(std::size_t, const takt_timing&)>& on_request;
        std::exception_ptr thrown;
    } call{options, on_request, nullptr};
    const auto trampoline = [](void* user_data, std::size_t index, const takt_timing* timing) -> int32_t {
        auto* self = static_cast<Call*>(user_data);
        try {
            return self->on_request(index, *timing) ? TAKT_CONTINUE : TAKT_STOP;
        } catch (...) {
            self->thrown = std::current_exception();
            return TAKT_STOP;
        }
    };
    takt_engine_options c = Engine::to_c(options);
    if (options.on_step) {
        c.on_step = [](void* user_data, const takt_step* step) {
            static_cast<Call*>(user_data)->options.on_step(*step);
        };
        c.step_user_data = &call;
    }
    takt_step_costs tables;
    check(takt_step_costs_init(&tables, sizeof tables));
    tables.decode = costs.decode.data();
    tables.decode_count = costs.decode.size();
    tables.prefill = costs.prefill.data();
    tables.prefill_count = costs.prefill.size();
    tables.decode_position_ns = costs.decode_position_ns;
    tables.prefill_position_ns = costs.prefill_position_ns;
    const takt_status status =
        takt_model_simulate(get(), &c, &tables, requests.data(), requests.size(), trampoline, &call);
    if (call.thrown) std::rethrow_exception(call.thrown);
    check(status);
}

// A conversation. cancel() may be called from any thread, the rest from one at a time.
class Session {
public:
    explicit Session(const Engine& engine, std::string_view system = {}) {
        takt_session* handle = nullptr;
        check(takt_session_create(engine.get(), system.data(), system.size(), &handle));
        handle_.reset(handle);
    }
    takt_timing send(std::string_view text, const RequestOptions& options) {
        detail::EventCall call{options.on_event, nullptr, nullptr};
        const detail::CRequest c(options, call);
        takt_timing timing = detail::empty_timing();
        const char* data = text.data() != nullptr ? text.data() : "";
        const takt_status status = takt_session_send(get(), data, text.size(), &c.options, &timing);
        call.rethrow();
        check(status);
        return timing;
    }
    void cancel() { check(takt_session_cancel(get())); }
    void reset() { check(takt_session_reset(get())); }
    takt_session* get() const noexcept { return handle_.get(); }

private:
    detail::Owned<takt_session, takt_session_destroy> handle_;
};

}  // namespace takt

#endif  // TAKT_TAKT_HPP
