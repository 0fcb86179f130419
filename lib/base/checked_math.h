// Sums and products of numbers that came from outside: nothing on overflow, so that no wrapped value is ever
// used.
#pragma once

#include <cstdint>
#include <optional>

namespace takt {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

// alignment is a power of two.
inline std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
    const std::optional<uint64_t> raised = checked_add(value, alignment - 1);
    if (!raised) return std::nullopt;
    return *raised & ~(alignment - 1);
}

}  // namespace takt
