// Zeroed, aligned memory whose failure is a Result.
#include "base/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace takt {
namespace {

// Before the aligned bytes stands the pointer that calloc gave. calloc, because it leaves fresh pages of a
// large block untouched: a buffer of some GB costs nothing until it is used.
constexpr size_t kOverhead = AlignedBuffer::kAlignment + sizeof(void*);
// No single buffer comes near a TiB; a larger wish is a wrong size, and some allocators kill the process over
// it.
constexpr size_t kLimitBytes = (size_t{1} << 40) - (size_t{1} << 20);

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(size_t size_bytes) {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    void* block = size_bytes <= kLimitBytes ? std::calloc(1, size_bytes + kOverhead) : nullptr;
    if (block == nullptr) {
        return Status(StatusCode::out_of_memory,
                      fmt::format("Memory for {} bytes could not be had.", size_bytes));
    }
    const uintptr_t first = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
    const uintptr_t aligned = (first + kAlignment - 1) & ~uintptr_t{kAlignment - 1};
    std::byte* data = static_cast<std::byte*>(block) + (aligned - reinterpret_cast<uintptr_t>(block));
    std::memcpy(data - sizeof(void*), &block, sizeof(void*));
    buffer.data_.reset(data);
    buffer.size_ = size_bytes;
    return buffer;
}

void AlignedBuffer::Free::operator()(std::byte* p) const {
    void* block = nullptr;
    std::memcpy(&block, p - sizeof(void*), sizeof(void*));
    std::free(block);
}

}  // namespace takt
