// Makes clock, pool and backends, and finds a backend by name.
#include "engine/runtime.h"

#include <system_error>

#include <fmt/format.h>

#include "engine/backend_list.h"

namespace takt {
namespace {

constexpr uint32_t kMaxThreads = 1024;

}  // namespace

Result<std::shared_ptr<Runtime>> Runtime::create(RuntimeOptions options, std::vector<BackendEntry> backends) {
    if (options.n_threads > kMaxThreads) {
        return Status(StatusCode::invalid_argument, fmt::format("n_threads is {}, at most {} are possible.",
                                                                options.n_threads, kMaxThreads));
    }
    std::shared_ptr<Runtime> runtime(new Runtime(std::move(options.log)));
    runtime->clock_ = options.clock ? std::move(options.clock) : std::make_shared<SteadyClock>();
    try {
        runtime->pool_ = std::make_unique<ThreadPool>(options.n_threads);
    } catch (const std::system_error& error) {
        return Status(StatusCode::out_of_memory,
                      fmt::format("{} threads can't be started: {}.", options.n_threads, error.what()));
    }
    runtime->backends_ = std::move(backends);
    return runtime;
}

Result<std::shared_ptr<Runtime>> Runtime::create(RuntimeOptions options) {
    const std::string isa_cap = options.isa_cap;
    auto runtime = create(std::move(options), {});
    if (!runtime.ok()) return runtime;
    BackendContext context;
    context.pool = (*runtime)->pool_.get();
    context.logger = &(*runtime)->logger_;
    context.isa_cap = isa_cap;
    (*runtime)->backends_ = make_backends(context);
    // An ISA level that nobody knows is a name without a thing, not a missing device.
    for (const BackendEntry& entry : (*runtime)->backends_) {
        if (isa_cap.empty() || entry.backend) continue;
        const bool is_name = entry.why_not_code == StatusCode::invalid_argument;
        return Status(is_name ? StatusCode::not_found : entry.why_not_code, entry.why_not);
    }
    return runtime;
}

Result<Backend*> Runtime::find_backend(std::string_view name) {
    std::string present;
    for (const BackendEntry& entry : backends_) {
        if (entry.backend && (name.empty() || name == entry.name)) return entry.backend.get();
        if (name == entry.name) {
            return Status(StatusCode::not_found,
                          fmt::format("Backend {} isn't available here: {}", name, entry.why_not));
        }
        if (entry.backend) present += (present.empty() ? "" : ", ") + entry.name;
    }
    if (name.empty()) return Status(StatusCode::not_found, "No backend is available here.");
    return Status(StatusCode::not_found,
                  fmt::format("There is no backend '{}'; available here: {}.", name, present));
}

void Runtime::remember_limits(std::string_view backend, const DeviceLimits& limits) {
    const std::lock_guard lock(limits_mutex_);
    limits_.insert_or_assign(std::string(backend), limits);
}

DeviceLimits Runtime::limits(std::string_view backend) const {
    const std::lock_guard lock(limits_mutex_);
    const auto found = limits_.find(backend);
    return found == limits_.end() ? DeviceLimits{} : found->second;
}

// Rows up to which a step is bound by reading the weights, as a decode step is.
constexpr size_t kFewRows = 16;

Runtime::StepTurn::StepTurn(Runtime& runtime, size_t n_rows) : runtime_(runtime) {
    runtime_.pool_mutex_.lock();
    runtime_.pool_->set_active(n_rows <= kFewRows ? runtime_.few_row_threads_ : runtime_.many_row_threads_);
}

Runtime::StepTurn::~StepTurn() {
    runtime_.pool_->set_active(0);  // loads and measurements have them all
    runtime_.pool_mutex_.unlock();
}

}  // namespace takt
