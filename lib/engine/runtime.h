// The root: clock, log, threads, backends, packed weights. Everything that lives hangs from one of these.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/energy_meter.h"
#include "base/log.h"
#include "base/os.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "engine/turn_mutex.h"

namespace takt {

struct RuntimeOptions {
    Logger::Sink log;
    std::shared_ptr<const Clock> clock;  // null: the system's
    std::string isa_cap;
    uint32_t n_threads = 0;
};

struct BackendEntry {
    std::string name;
    std::unique_ptr<Backend> backend;  // null: absent
    std::string why_not;
    StatusCode why_not_code = StatusCode::not_found;
};

class Runtime {
public:
    static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options);
    // With the backends given, best first; tests bring their own.
    static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options,
                                                   std::vector<BackendEntry> backends);

    const Clock& clock() const { return *clock_; }
    const std::shared_ptr<const Clock>& shared_clock() const { return clock_; }
    const Logger& logger() const { return logger_; }
    ThreadPool& pool() { return *pool_; }
    WeightStore& weight_store() { return weight_store_; }
    const std::vector<BackendEntry>& backends() const { return backends_; }
    // "" is the best that is there. not_found lists those present; an absent one says why.
    Result<Backend*> find_backend(std::string_view name);
    // True in a child forked since: its threads are not here.
    bool forked() const { return birthplace_.left(); }
    // The pool runs one step at a time: held by an engine for each step, and by a load while it packs. First
    // come, first served.
    TurnMutex& pool_mutex() { return pool_mutex_; }
    EnergyMeter& energy() { return energy_; }
    // What was measured of a backend's device last; nothing until then. Thread-safe.
    void remember_limits(std::string_view backend, const DeviceLimits& limits);
    DeviceLimits limits(std::string_view backend) const;
    // Of engines, from 0.
    uint32_t next_engine_number() { return next_engine_++; }
    // Threads of steps with many rows and of steps with few; 0: all.
    void set_step_threads(uint32_t many_rows, uint32_t few_rows) {
        many_row_threads_ = many_rows;
        few_row_threads_ = few_rows;
    }
    uint32_t many_row_threads() const { return threads_or_all(many_row_threads_); }
    uint32_t few_row_threads() const { return threads_or_all(few_row_threads_); }

    // The pool's turn for one step of n_rows, on the threads that such a step has.
    class StepTurn {
    public:
        StepTurn(Runtime& runtime, size_t n_rows);
        ~StepTurn();
        StepTurn(const StepTurn&) = delete;
        StepTurn& operator=(const StepTurn&) = delete;

    private:
        Runtime& runtime_;
    };

private:
    explicit Runtime(Logger::Sink log) : logger_(std::move(log)) {}
    uint32_t threads_or_all(uint32_t n) const { return n == 0 ? pool_->n_threads() : n; }
    const os::Birthplace birthplace_;
    std::shared_ptr<const Clock> clock_;
    Logger logger_;
    std::unique_ptr<ThreadPool> pool_;
    WeightStore weight_store_;
    std::vector<BackendEntry> backends_;
    TurnMutex pool_mutex_;
    EnergyMeter energy_;
    mutable std::mutex limits_mutex_;
    std::map<std::string, DeviceLimits, std::less<>> limits_;  // by backend
    std::atomic<uint32_t> next_engine_{0};
    std::atomic<uint32_t> many_row_threads_{0}, few_row_threads_{0};
};

}  // namespace takt
