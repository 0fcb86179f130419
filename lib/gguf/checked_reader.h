// Walks a source from front to back, once, through a window; nothing is given out that the file does not
// hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace takt {

// file_truncated where `wanted` bytes can be meant, so that the end of the file is what is missing; else
// file_invalid.
StatusCode past_end_code(uint64_t wanted);
// The error for `wanted` bytes where only `left` remain.
Status past_end_error(std::string_view what, uint64_t wanted, uint64_t left);

class CheckedReader {
public:
    explicit CheckedReader(const ByteSource& source) : source_(source), size_(source.size_bytes()) {}

    uint64_t position() const { return position_; }
    uint64_t left() const { return size_ - position_; }
    // 64-bit hash of all bytes given out so far, however they were cut into reads.
    uint64_t fingerprint() const;

    // `what` names the thing in the error.
    Status read(std::string_view what, std::span<std::byte> out);
    template <typename T>
        requires std::is_arithmetic_v<T>
    Status read_number(std::string_view what, T& out) {
        return read(what, std::as_writable_bytes(std::span<T, 1>(&out, 1)));
    }
    // A u64 length and that many bytes; the length is held against the bytes left and `limit` before memory
    // is taken.
    Status read_string(std::string_view what, uint64_t limit, std::string& out);

private:
    Status refill();

    const ByteSource& source_;
    uint64_t size_;
    uint64_t position_ = 0;                       // of the next byte given out
    uint64_t fingerprint_ = 0xcbf29ce484222325u;  // of the windows used up so far
    std::vector<std::byte> window_;
    size_t window_used_ = 0;
};

}  // namespace takt
