// Workers owned by the runtime. One job at a time; each worker has a share of its tasks and, when it is
// through, takes from the others', so a slow core never gates the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace takt {

// A borrowed callable: two words, no allocation, valid for the length of one call.
template <typename Signature>
class FunctionRef;
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
public:
    template <typename F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
    FunctionRef(F&& f)  // NOLINT(google-explicit-constructor)
        : object_(const_cast<void*>(static_cast<const void*>(&f))),
          call_([](void* object, Args... args) -> R {
              return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
          }) {}
    R operator()(Args... args) const { return call_(object_, args...); }

private:
    void* object_;
    R (*call_)(void*, Args...);
};

class ThreadPool {
public:
    // n_threads counts the calling thread: n_threads - 1 workers are started. 0 means default_threads().
    // Fewer are started where the system gives no more, and none above 1024.
    explicit ThreadPool(uint32_t n_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    uint32_t n_threads() const;
    // Of them, those that work on the jobs that follow: the caller and the first workers. 0 or too many: all.
    void set_active(uint32_t n_threads);
    uint32_t n_active() const;

    // Calls body(task, worker) for every task in [0, n_tasks), on the caller and the workers; returns when
    // all are done. worker < n_threads() and tells scratch buffers apart. Allocates nothing; body must not
    // throw. A second caller waits for its turn; a run inside a body runs its tasks right there, as that
    // body's worker.
    void run(uint32_t n_tasks, FunctionRef<void(uint32_t task, uint32_t worker)> body);

    // The tasks that a worker of n_workers is to do itself, in this order, as long as nobody is quicker.
    struct Share {
        uint32_t first, end;
    };
    static Share share(uint32_t n_tasks, uint32_t worker, uint32_t n_workers);

    // Physical cores within this process's affinity mask and cgroup quota, at least 1.
    static uint32_t default_threads();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace takt
