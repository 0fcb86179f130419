// Workers that spin briefly for the next job and then park. Each has a range of the job's tasks and, when it
// is done, takes from the ranges of others, one by one, from a word that also names the job.
#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/os.h"

namespace takt {
namespace {

using Body = FunctionRef<void(uint32_t, uint32_t)>;

constexpr uint32_t kMostThreads = 1024;
// A decode step starts a job every few to some tens of microseconds; a parked worker costs its waker a system
// call.
constexpr std::chrono::microseconds kSpin{50};
constexpr int kPausesPerLook = 16;  // between two looks at the clock, which costs as much as some pauses

void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// The job in the high half, its next task in the low half. A claim is a compare-and-swap of the whole word,
// so a worker that comes late can never take a task of a later job with an earlier job's body.
constexpr uint32_t kNoTasks = UINT32_MAX;
constexpr uint64_t job_word(uint32_t job, uint32_t next) {
    return uint64_t{job} << 32 | next;
}
constexpr uint32_t next_of(uint64_t word) {
    return static_cast<uint32_t>(word);
}

// Where the tasks of one worker stand.
struct alignas(64) Range {
    std::atomic<uint64_t> word{job_word(0, kNoTasks)};
};

}  // namespace

struct ThreadPool::Impl {
    std::unique_ptr<Range[]> ranges;  // by worker
    // Apart, because finishers write the first and idle workers look at the second.
    alignas(64) std::atomic<uint32_t> unfinished{0};
    std::atomic<uint32_t> caller_parked{0};
    alignas(64) std::atomic<uint32_t> job{0};  // what the words' high halves say
    std::atomic<uint32_t> n_parked{0};
    std::atomic<int> waker_cpu{-1};
    std::atomic<bool> stop{false};
    // Written only while all words say kNoTasks, with release; read with acquire before a claim. Whoever read
    // a later job's values has therefore also seen that the word changed, and the claim fails.
    alignas(64) std::atomic<uint32_t> n_tasks{0};
    std::atomic<uint32_t> n_ranges{0};
    std::atomic<const Body*> body{nullptr};

    std::atomic<uint32_t> n_active{UINT32_MAX};

    std::mutex turn;  // one job at a time
    std::atomic<std::thread::id> caller{};
    std::chrono::microseconds spin{kSpin};
    std::vector<std::thread> workers;
    const os::Birthplace birthplace;

    // Claims from one range until it is empty; the number of tasks done.
    uint32_t drain(uint32_t range, uint32_t worker) {
        std::atomic<uint64_t>& word = ranges[range].word;
        uint32_t done = 0;
        uint64_t seen = word.load(std::memory_order_acquire);
        while (true) {
            const uint32_t end = share(n_tasks.load(std::memory_order_acquire), range,
                                       n_ranges.load(std::memory_order_acquire))
                                     .end;
            const Body* call = body.load(std::memory_order_acquire);
            if (next_of(seen) >= end) return done;  // kNoTasks too: no job has that many tasks
            if (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                            std::memory_order_acquire))
                continue;
            (*call)(next_of(seen), worker);
            ++done;
            seen = word.load(std::memory_order_acquire);
        }
    }

    // Works on the open job until no task is left to claim: its own, then those of others.
    void help(uint32_t worker) {
        const uint32_t n = n_ranges.load(std::memory_order_acquire);
        uint32_t done = 0;
        for (uint32_t i = 0; i < n; ++i) done += drain((worker + i) % n, worker);
        if (done == 0) return;
        if (unfinished.fetch_sub(done, std::memory_order_seq_cst) == done &&
            caller_parked.load(std::memory_order_seq_cst) != 0) {
            os::wake(unfinished, 1);
        }
    }

    // True when `ready` came true within the time that is worth spinning.
    template <typename Ready>
    bool spin_until(Ready ready) const {
        if (ready()) return true;
        if (spin.count() == 0) return false;
        const auto end = std::chrono::steady_clock::now() + spin;
        do {
            for (int i = 0; i < kPausesPerLook; ++i) {
                cpu_pause();
                if (ready()) return true;
            }
        } while (std::chrono::steady_clock::now() < end);
        return false;
    }

    void work(uint32_t worker) {
        uint32_t last_job = 0;
        while (true) {
            const auto news = [&] { return job.load(std::memory_order_seq_cst) != last_job; };
            if (!spin_until(news)) {
                // Either run() sees this count and wakes, or its new job number is seen here or by the
                // kernel.
                n_parked.fetch_add(1, std::memory_order_seq_cst);
                while (!news()) os::wait_while_equal(job, last_job);
                n_parked.fetch_sub(1, std::memory_order_seq_cst);
                leave_waker_alone();
            }
            // In this order: the last announcement comes after stop is set, and must not be taken for a
            // job's.
            last_job = job.load(std::memory_order_seq_cst);
            if (stop.load(std::memory_order_acquire)) return;
            if (worker < n_active.load(std::memory_order_relaxed)) help(worker);
        }
    }

    // A kernel may put a woken worker on its waker's CPU though another is idle, and leave it there: then the
    // two take turns and a step takes longer than without the worker.
    void leave_waker_alone() const {
        const int cpu = waker_cpu.load(std::memory_order_relaxed);
        if (cpu >= 0 && spin.count() != 0 && cpu == os::current_cpu()) os::leave_cpu(cpu);
    }

    void announce(uint32_t n_helpers) {
        job.fetch_add(1, std::memory_order_seq_cst);
        if (n_parked.load(std::memory_order_seq_cst) == 0) return;
        waker_cpu.store(os::current_cpu(), std::memory_order_relaxed);
        os::wake(job, n_helpers);
    }

    void run(uint32_t last, uint32_t n_workers, const Body& call) {
        unfinished.store(last, std::memory_order_relaxed);
        n_tasks.store(last, std::memory_order_release);
        n_ranges.store(n_workers, std::memory_order_release);
        body.store(&call, std::memory_order_release);
        const uint32_t number = job.load(std::memory_order_relaxed) + 1;
        for (uint32_t i = 0; i < n_workers; ++i) {
            ranges[i].word.store(job_word(number, share(last, i, n_workers).first),
                                 std::memory_order_release);
        }
        // Which of the parked ones wake isn't said, so that of fewer than all everyone is woken.
        const bool all = n_workers > workers.size();
        announce(all ? last - 1 : kMostThreads);
        help(0);
        const auto finished = [this] { return unfinished.load(std::memory_order_acquire) == 0; };
        if (!spin_until(finished)) {
            caller_parked.store(1, std::memory_order_seq_cst);
            for (uint32_t left; (left = unfinished.load(std::memory_order_seq_cst)) != 0;) {
                os::wait_while_equal(unfinished, left);
            }
            caller_parked.store(0, std::memory_order_relaxed);
        }
        for (uint32_t i = 0; i < n_workers; ++i) {
            ranges[i].word.store(job_word(number, kNoTasks), std::memory_order_release);
        }
    }

    // The calling thread's number if it is inside a body now, else n_threads.
    uint32_t number_inside() const {
        const std::thread::id self = std::this_thread::get_id();
        if (caller.load(std::memory_order_relaxed) == self) return 0;
        for (size_t i = 0; i < workers.size(); ++i) {
            if (workers[i].get_id() == self) return static_cast<uint32_t>(i + 1);
        }
        return static_cast<uint32_t>(workers.size() + 1);
    }
};

ThreadPool::ThreadPool(uint32_t n_threads) : impl_(std::make_unique<Impl>()) {
    if (n_threads == 0) n_threads = default_threads();
    n_threads = std::min(n_threads, kMostThreads);
    // Spinning on a CPU that another worker waits for only slows that one down.
    if (n_threads > os::allowed_cpus()) impl_->spin = std::chrono::microseconds{0};
    Impl* impl = impl_.get();
    impl->ranges = std::make_unique<Range[]>(n_threads);
    impl->workers.reserve(n_threads - 1);
    for (uint32_t worker = 1; worker < n_threads; ++worker) {
        try {
            impl->workers.push_back(
                os::start_quiet_thread("takt-worker", [impl, worker] { impl->work(worker); }));
        } catch (const std::system_error&) {
            break;  // the system gives no more threads: fewer do the same work
        }
    }
}

ThreadPool::~ThreadPool() {
    if (impl_->birthplace.left()) {  // a forked child: the workers never lived here
        for (std::thread& worker : impl_->workers) worker.detach();
        return;
    }
    impl_->stop.store(true, std::memory_order_release);
    impl_->announce(kMostThreads);
    for (std::thread& worker : impl_->workers) worker.join();
}

uint32_t ThreadPool::n_threads() const {
    return static_cast<uint32_t>(impl_->workers.size() + 1);
}

void ThreadPool::set_active(uint32_t n_threads) {
    impl_->n_active.store(n_threads == 0 ? UINT32_MAX : n_threads, std::memory_order_relaxed);
}

uint32_t ThreadPool::n_active() const {
    return std::min(n_threads(), impl_->n_active.load(std::memory_order_relaxed));
}

void ThreadPool::run(uint32_t n_tasks, FunctionRef<void(uint32_t task, uint32_t worker)> body) {
    const auto inline_as = [&](uint32_t worker) {
        for (uint32_t task = 0; task < n_tasks; ++task) body(task, worker);
    };
    if (impl_->caller.load(std::memory_order_relaxed) != std::thread::id{}) {
        if (const uint32_t number = impl_->number_inside(); number < n_threads()) return inline_as(number);
    }
    const std::lock_guard lock(impl_->turn);
    impl_->caller.store(std::this_thread::get_id(), std::memory_order_relaxed);
    if (n_tasks < 2 || n_active() == 1) {
        inline_as(0);
    } else {
        impl_->run(n_tasks, n_active(), body);
    }
    impl_->caller.store(std::thread::id{}, std::memory_order_relaxed);
}

ThreadPool::Share ThreadPool::share(uint32_t n_tasks, uint32_t worker, uint32_t n_workers) {
    const auto first_of = [&](uint32_t w) {
        return static_cast<uint32_t>(uint64_t{n_tasks} * w / n_workers);
    };
    return {first_of(worker), first_of(worker + 1)};
}

uint32_t ThreadPool::default_threads() {
    return std::max(1u, std::min(os::allowed_cores(), os::cgroup_cpus()));
}

}  // namespace takt
