// Runtime and the backends it lists.
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "api/defaults.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/struct_copy.h"
#include "engine/callback_guard.h"
#include "engine/runtime.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

constexpr uint32_t kMaxThreads = 1024;

class CallbackClock final : public Clock {
public:
    CallbackClock(takt_clock_callback now, void* user_data) : now_(now), user_data_(user_data) {}
    // Called where nothing may fail: a clock that throws stands still.
    uint64_t now_ns() const override {
        try {
            const uint64_t now = now_(user_data_);
            last_.store(now, std::memory_order_relaxed);
            return now;
        } catch (...) {
            return last_.load(std::memory_order_relaxed);
        }
    }

private:
    takt_clock_callback now_;
    void* user_data_;
    mutable std::atomic<uint64_t> last_{0};
};

Logger::Sink make_sink(const takt_runtime_options& options) {
    if (options.log == nullptr) return {};
    return [log = options.log, user_data = options.log_user_data, cap = options.log_level](
               LogLevel level, std::string_view text) {
        if (static_cast<int32_t>(level) > cap) return;
        const CallbackThreads::Scope scope(nullptr);
        log(user_data, static_cast<int32_t>(level), text.data(), text.size());
    };
}

Result<RuntimeOptions> read_options(const takt_runtime_options& given) {
    if (given.log_level < TAKT_LOG_ERROR || given.log_level > TAKT_LOG_DEBUG) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("log_level is {}, 0 to 3 have a meaning.", given.log_level));
    }
    if (given.n_threads > kMaxThreads) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("n_threads is {}, at most {} are possible.", given.n_threads, kMaxThreads));
    }
    RuntimeOptions options;
    options.log = make_sink(given);
    if (given.clock != nullptr)
        options.clock = std::make_shared<CallbackClock>(given.clock, given.clock_user_data);
    if (given.isa_cap != nullptr) options.isa_cap = given.isa_cap;
    options.n_threads = given.n_threads;
    return options;
}

BackendTexts describe(const BackendEntry& entry) {
    BackendTexts texts;
    texts.name = entry.name;
    texts.why_not = entry.why_not;
    texts.available = entry.backend != nullptr;
    if (!texts.available) return texts;
    const DeviceInfo& device = entry.backend->device_info();
    texts.device = device.name;
    texts.isa = device.isa;
    texts.memory_bytes = device.memory_bytes;
    for (const std::string& level : device.isa_levels) {
        if (!texts.isa_levels.empty()) texts.isa_levels += ' ';
        texts.isa_levels += level;
    }
    return texts;
}

}  // namespace

takt_status takt_runtime_create(const takt_runtime_options* options, takt_runtime** out_runtime) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_runtime);
        *out_runtime = nullptr;
        const Result<takt_runtime_options> given =
            read_optional_struct(options, "options", default_runtime_options());
        if (!given.ok()) return given.status();
        Result<RuntimeOptions> own = read_options(*given);
        if (!own.ok()) return own.status();
        Result<std::shared_ptr<Runtime>> runtime = Runtime::create(std::move(*own));
        if (!runtime.ok()) return runtime.status();
        auto handle = std::make_unique<takt_runtime>();
        handle->runtime = std::move(*runtime);
        for (const BackendEntry& entry : handle->runtime->backends())
            handle->backends.push_back(describe(entry));
        *out_runtime = handle.release();
        return {};
    });
}

void takt_runtime_destroy(takt_runtime* runtime) {
    guard_void([&] { delete runtime; });
}

uint64_t takt_runtime_now_ns(const takt_runtime* runtime) {
    if (runtime == nullptr) return 0;
    return guard_value<uint64_t>(0, [&] { return runtime->runtime->clock().now_ns(); });
}

uint32_t takt_runtime_thread_count(const takt_runtime* runtime) {
    return runtime == nullptr ? 0 : runtime->runtime->pool().n_threads();
}

takt_status takt_runtime_set_threads(takt_runtime* runtime, uint32_t n_prefill, uint32_t n_decode) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(runtime);
        const uint32_t most = runtime->runtime->pool().n_threads();
        for (const auto& [name, value] :
             {std::pair{"n_prefill", n_prefill}, std::pair{"n_decode", n_decode}}) {
            if (value <= most) continue;
            return Status(StatusCode::invalid_argument,
                          fmt::format("{} is {}, the runtime has {} threads.", name, value, most));
        }
        runtime->runtime->set_step_threads(n_prefill, n_decode);
        return {};
    });
}

size_t takt_backend_count(const takt_runtime* runtime) {
    return runtime == nullptr ? 0 : runtime->backends.size();
}

takt_status takt_backend_get(const takt_runtime* runtime, size_t index, takt_backend_info* out_info) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(runtime);
        TAKT_RETURN_IF_ERROR(check_output(out_info, "out_info"));
        if (index >= runtime->backends.size()) {
            return Status(
                StatusCode::invalid_argument,
                fmt::format("index is {}, the runtime lists {} backends.", index, runtime->backends.size()));
        }
        const BackendTexts& texts = runtime->backends[index];
        takt_backend_info info{};
        info.name = texts.name.c_str();
        info.device = texts.device.c_str();
        info.isa = texts.isa.c_str();
        info.isa_levels = texts.isa_levels.c_str();
        info.why_not = texts.why_not.c_str();
        info.memory_bytes = texts.memory_bytes;
        info.available = texts.available ? 1 : 0;
        write_struct(info, out_info);
        return {};
    });
}
