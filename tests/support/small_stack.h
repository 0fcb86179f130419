// Runs a function on a thread with a stack of 128 KiB, as musl, Go and Windows fibers give.
#pragma once

#include <pthread.h>

#include <catch2/catch.hpp>

#include <functional>

namespace takt::test {

// Sanitizers need more for themselves and for the same code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kSmallStackBytes = 2 * 1024 * 1024;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr size_t kSmallStackBytes = 2 * 1024 * 1024;
#else
constexpr size_t kSmallStackBytes = 128 * 1024;
#endif
#else
constexpr size_t kSmallStackBytes = 128 * 1024;
#endif

inline void on_small_stack(const std::function<void()>& work) {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, kSmallStackBytes) == 0);
    pthread_t thread;
    const auto run = [](void* argument) -> void* {
        (*static_cast<const std::function<void()>*>(argument))();
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
    REQUIRE(pthread_attr_destroy(&attributes) == 0);
}

}  // namespace takt::test
