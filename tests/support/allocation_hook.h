// Replaces operator new of a test program: a hook sees every allocation and may let it fail. Included once a
// program.
#pragma once

#include <cstdlib>
#include <new>

namespace allocation_hook {

// False: there is no memory. Defined by the test; must not allocate.
bool may_allocate() noexcept;

inline void* try_to_allocate(size_t size) noexcept {
    return may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
}

inline void* allocate(size_t size) {
    if (void* memory = try_to_allocate(size)) return memory;
    throw std::bad_alloc();
}

}  // namespace allocation_hook

// Not inlined, or the compiler takes malloc and free for a mismatch.
[[gnu::noinline]] void* operator new(size_t size) {
    return allocation_hook::allocate(size);
}
[[gnu::noinline]] void* operator new[](size_t size) {
    return allocation_hook::allocate(size);
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
    return allocation_hook::try_to_allocate(size);
}
[[gnu::noinline]] void* operator new[](size_t size, const std::nothrow_t&) noexcept {
    return allocation_hook::try_to_allocate(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept {
    std::free(memory);
}
