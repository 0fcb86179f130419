// Every task once, whoever takes it; jobs one after another; nested, concurrent and oversubscribed use.
#include "base/thread_pool.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <pthread.h>

#include "base/os.h"
#include "temporary_folder.h"

using namespace takt;

namespace {

// True if each task ran exactly once, on a worker number below n_threads().
bool runs_every_task_once(ThreadPool& pool, uint32_t n_tasks) {
    std::vector<std::atomic<uint32_t>> counts(n_tasks);
    std::atomic<bool> right{true};
    pool.run(n_tasks, [&](uint32_t task, uint32_t worker) {
        counts[task].fetch_add(1);
        if (worker >= pool.n_threads()) right = false;
    });
    for (const auto& count : counts) right = right && count == 1;
    return right;
}

}  // namespace

TEST_CASE("Every task runs exactly once") {
    for (const uint32_t n_threads : {1u, 2u, 3u, 8u}) {
        ThreadPool pool(n_threads);
        CHECK(pool.n_threads() == n_threads);
        for (const uint32_t n_tasks : {0u, 1u, 2u, 3u, 7u, 64u, 10000u}) {
            INFO(n_threads << " threads, " << n_tasks << " tasks");
            CHECK(runs_every_task_once(pool, n_tasks));
        }
    }
}

TEST_CASE("A task sees what the caller wrote, and the caller what the tasks wrote") {
    ThreadPool pool(3);
    std::vector<uint64_t> values(64, 0);
    for (uint64_t round = 1; round <= 3000; ++round) {
        for (uint64_t& value : values) value += round;
        pool.run(static_cast<uint32_t>(values.size()),
                 [&](uint32_t task, uint32_t) { values[task] += task; });
    }
    for (uint64_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == 3000 * 3001 / 2 + 3000 * i);
}

TEST_CASE("Workers that have parked wake for the next job") {
    ThreadPool pool(4);
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // far beyond the time they spin
        CHECK(runs_every_task_once(pool, 16));
    }
}

TEST_CASE("A caller that waits for a slow task parks and is woken") {
    ThreadPool pool(2);
    std::atomic<uint32_t> started{0};
    std::atomic<uint32_t> finished{0};
    // Each task waits for the other to start, so the two threads hold one each.
    pool.run(2, [&](uint32_t, uint32_t worker) {
        ++started;
        while (started.load() < 2) std::this_thread::yield();
        if (worker != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++finished;
    });
    CHECK(finished == 2);
}

TEST_CASE("Many more threads than cores finish many small jobs") {
    ThreadPool pool(16);
    std::atomic<uint64_t> sum{0};
    for (int round = 0; round < 500; ++round) {
        pool.run(40, [&](uint32_t task, uint32_t) { sum.fetch_add(task, std::memory_order_relaxed); });
    }
    CHECK(sum == 500u * (39u * 40u / 2));
}

TEST_CASE("One task, or one thread, stays on the calling thread") {
    ThreadPool many(4);
    ThreadPool alone(1);
    const auto check = [](ThreadPool& pool, uint32_t n_tasks) {
        const std::thread::id self = std::this_thread::get_id();
        bool here = true;
        pool.run(n_tasks, [&](uint32_t, uint32_t worker) {
            here = here && worker == 0 && std::this_thread::get_id() == self;
        });
        return here;
    };
    CHECK(check(many, 1));
    CHECK(check(alone, 100));
}

TEST_CASE("Only the active threads work, and what they are may change from job to job") {
    ThreadPool pool(4);
    CHECK(pool.n_active() == 4);
    for (int round = 0; round < 50; ++round) {
        for (const uint32_t active : {1u, 3u, 2u, 0u, 9u, 4u}) {
            pool.set_active(active);
            const uint32_t wanted = active == 0 || active > 4 ? 4 : active;
            CHECK(pool.n_active() == wanted);
            std::atomic<uint32_t> done{0};
            std::atomic<bool> within{true};
            pool.run(64, [&](uint32_t, uint32_t worker) {
                if (worker >= wanted) within = false;
                ++done;
            });
            CHECK(done == 64);
            CHECK(within);
        }
        if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // they park
    }
}

TEST_CASE("A run inside a body runs its tasks there, as the worker that the body runs on") {
    ThreadPool pool(3);
    std::atomic<uint32_t> inner{0};
    std::atomic<bool> same{true};
    pool.run(12, [&](uint32_t, uint32_t outer_worker) {
        pool.run(5, [&](uint32_t, uint32_t worker) {
            ++inner;
            if (worker != outer_worker) same = false;
        });
    });
    CHECK(inner == 60);
    CHECK(same);
    CHECK(runs_every_task_once(pool, 100));
}

TEST_CASE("Two callers take turns, and no worker number is used by two threads at once") {
    ThreadPool pool(3);
    std::vector<std::atomic<int>> in_use(pool.n_threads());
    std::atomic<bool> apart{true};
    std::atomic<uint32_t> done{0};
    const auto call = [&] {
        for (int i = 0; i < 300; ++i) {
            pool.run(1 + static_cast<uint32_t>(i) % 9, [&](uint32_t, uint32_t worker) {
                if (in_use[worker].fetch_add(1) != 0) apart = false;
                ++done;
                in_use[worker].fetch_sub(1);
            });
        }
    };
    std::thread other(call);
    call();
    other.join();
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < 300; ++i) wanted += 2 * (1 + i % 9);
    CHECK(done == wanted);
    CHECK(apart);
}

TEST_CASE("Pools come and go, used or not, parked or not") {
    for (int i = 0; i < 50; ++i) {
        ThreadPool pool(3);
        if (i % 2 == 0) CHECK(runs_every_task_once(pool, 10));
        if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

TEST_CASE("Workers are named and block the application's signals, but not those of a crash") {
    ThreadPool pool(2);
    std::atomic<bool> checked{false};
    std::atomic<bool> right{true};
    while (!checked) {
        pool.run(2, [&](uint32_t, uint32_t worker) {
            if (worker == 0) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
            char name[16] = {};
            sigset_t mask;
            pthread_getname_np(pthread_self(), name, sizeof(name));
            pthread_sigmask(SIG_BLOCK, nullptr, &mask);
            right = std::string(name) == "takt-worker" && sigismember(&mask, SIGINT) == 1 &&
                    sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGSEGV) == 0;
            checked = true;
        });
    }
    CHECK(right);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    CHECK(sigismember(&mask, SIGINT) == 0);
}

TEST_CASE("The default number of threads is at least one and no more than the CPUs allowed") {
    CHECK(ThreadPool::default_threads() >= 1);
    CHECK(ThreadPool::default_threads() <= os::allowed_cpus());
    CHECK(ThreadPool(0).n_threads() == ThreadPool::default_threads());
}

TEST_CASE("The quota of a cgroup counts in whole CPUs, that of its parents too") {
    const test::TemporaryFolder root;
    const std::string folder = root.file("");
    CHECK(os::cgroup_cpus(folder) == UINT32_MAX);

    root.write("proc/self/cgroup", "0::/app/inner\n");
    root.write("sys/fs/cgroup/app/inner/cpu.max", "max 100000\n");
    CHECK(os::cgroup_cpus(folder) == UINT32_MAX);
    root.write("sys/fs/cgroup/app/cpu.max", "350000 100000\n");
    CHECK(os::cgroup_cpus(folder) == 3);
    root.write("sys/fs/cgroup/app/inner/cpu.max", "50000 100000\n");
    CHECK(os::cgroup_cpus(folder) == 1);

    root.write("proc/self/cgroup", "5:cpu,cpuacct:/job\n3:cpuset:/\n");
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    CHECK(os::cgroup_cpus(folder) == UINT32_MAX);
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "400000\n");
    CHECK(os::cgroup_cpus(folder) == 4);
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "nonsense\n");
    CHECK(os::cgroup_cpus(folder) == UINT32_MAX);
}

TEST_CASE("CPUs of one core count once, and as cores where the system does not say") {
    const test::TemporaryFolder root;
    CHECK(os::allowed_cores(root.file("")) == os::allowed_cpus());
    for (int cpu = 0; cpu < 1024; ++cpu) {
        root.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
                   "0-1023\n");
    }
    CHECK(os::allowed_cores(root.file("")) == 1);
}
