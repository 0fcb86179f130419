// Owning, 64-byte-aligned bytes; the allocation is a Result, never an exception.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"

namespace takt {

class AlignedBuffer {
public:
    static constexpr size_t kAlignment = 64;

    AlignedBuffer() = default;
    // Zero-filled. Fails with out_of_memory and the size asked for.
    static Result<AlignedBuffer> allocate(size_t size_bytes);

    std::byte* data() { return data_.get(); }
    const std::byte* data() const { return data_.get(); }
    size_t size_bytes() const { return size_; }
    template <typename T>
    std::span<T> as() {
        return {reinterpret_cast<T*>(data_.get()), size_ / sizeof(T)};
    }
    template <typename T>
    std::span<const T> as() const {
        return {reinterpret_cast<const T*>(data_.get()), size_ / sizeof(T)};
    }

private:
    struct Free {
        void operator()(std::byte* p) const;
    };
    std::unique_ptr<std::byte[], Free> data_;
    size_t size_ = 0;
};

}  // namespace takt
