// Backends by name, and the turn that engines take.
#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

}  // namespace

TEST_CASE("a backend is found by name, the best one without, and a missing one says what is there") {
    const FakeScript script;
    std::vector<BackendEntry> backends;
    backends.push_back({"absent", nullptr, "no such device"});
    backends.push_back({"first", std::make_unique<FakeBackend>(script), ""});
    backends.push_back({"second", std::make_unique<FakeBackend>(script), ""});
    RuntimeOptions options;
    options.n_threads = 1;
    auto runtime = Runtime::create(options, std::move(backends));
    REQUIRE(runtime.ok());
    CHECK(*(*runtime)->find_backend("") == (*runtime)->backends()[1].backend.get());
    CHECK(*(*runtime)->find_backend("second") == (*runtime)->backends()[2].backend.get());
    const auto absent = (*runtime)->find_backend("absent");
    CHECK(absent.status().code() == StatusCode::not_found);
    CHECK(absent.status().message().find("no such device") != std::string::npos);
    const auto unknown = (*runtime)->find_backend("third");
    CHECK(unknown.status().code() == StatusCode::not_found);
    CHECK(unknown.status().message().find("first, second") != std::string::npos);
}

TEST_CASE("a runtime lists the backends of this build, and refuses what it can't be") {
    RuntimeOptions options;
    options.n_threads = 1;
    auto runtime = Runtime::create(options);
    REQUIRE(runtime.ok());
    CHECK((*runtime)->backends().size() >= 2);
    CHECK((*runtime)->find_backend("reference").ok());
    CHECK((*runtime)->pool().n_threads() == 1);
    options.n_threads = 100000;
    CHECK(Runtime::create(options).status().code() == StatusCode::invalid_argument);
    options.n_threads = 1;
    options.isa_cap = "abacus";
    const Status status = Runtime::create(options).status();
    CHECK(status.code() == StatusCode::not_found);
    CHECK(status.message().find("abacus") != std::string::npos);
}

TEST_CASE("turns are given in the order they were asked for") {
    TurnMutex turn;
    std::vector<int> order;
    std::vector<std::thread> threads;
    turn.lock();
    for (int i = 0; i < 5; ++i) {
        std::atomic<bool> asks = false;
        threads.emplace_back([&, i] {
            asks = true;
            turn.lock();
            order.push_back(i);
            turn.unlock();
        });
        while (!asks) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it stands in the line by now
    }
    turn.unlock();
    for (std::thread& thread : threads) thread.join();
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

}  // namespace takt
