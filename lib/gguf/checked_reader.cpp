// The window over a GGUF file's head.
#include "gguf/checked_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace takt {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF numbers are read as they lie in the file");

// The head of a small or broken file needs little; that of a large vocabulary some megabytes.
constexpr size_t kFirstWindow = size_t{16} << 10;
constexpr size_t kLargestWindow = size_t{1} << 20;
static_assert(kFirstWindow % sizeof(uint64_t) == 0);
// Metadata and tensor table together. Known files stay below 20 MB; a hostile one must not fill the memory
// through them, where small numbers and strings take some times their bytes in the file.
constexpr uint64_t kLargestHead = uint64_t{128} << 20;
// A length beyond this was never written by anyone; below it, the end of the file is likelier to be missing.
constexpr uint64_t kPlausibleBytes = uint64_t{1} << 40;

// Eight bytes at a time; a last word is filled up with zeros.
uint64_t hash_words(uint64_t hash, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        uint64_t word = 0;
        const size_t n = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), n);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        bytes = bytes.subspan(n);
    }
    return hash;
}

}  // namespace

StatusCode past_end_code(uint64_t wanted) {
    return wanted <= kPlausibleBytes ? StatusCode::file_truncated : StatusCode::file_invalid;
}

Status past_end_error(std::string_view what, uint64_t wanted, uint64_t left) {
    return Status(
        past_end_code(wanted),
        fmt::format("{}: {} bytes exceed the {} left before the end of file; it is truncated or damaged.",
                    what, wanted, left));
}

Status CheckedReader::read(std::string_view what, std::span<std::byte> out) {
    if (out.size() > left()) return past_end_error(what, out.size(), left());
    if (position_ + out.size() > kLargestHead) {  // both are at most the file's size here
        return Status(StatusCode::file_invalid,
                      fmt::format("{} lies behind the first {} bytes, the most that takt reads as metadata.",
                                  what, kLargestHead));
    }
    while (!out.empty()) {
        if (window_used_ == window_.size()) TAKT_RETURN_IF_ERROR(refill());
        const size_t n = std::min(out.size(), window_.size() - window_used_);
        std::memcpy(out.data(), window_.data() + window_used_, n);
        window_used_ += n;
        position_ += n;
        out = out.subspan(n);
    }
    return {};
}

Status CheckedReader::read_string(std::string_view what, uint64_t limit, std::string& out) {
    uint64_t length = 0;
    TAKT_RETURN_IF_ERROR(read_number(what, length));
    if (length > left()) return past_end_error(fmt::format("{}: length {}", what, length), length, left());
    if (length > limit) {
        return Status(StatusCode::file_invalid,
                      fmt::format("{} is too long: length {}, the limit is {}.", what, length, limit));
    }
    out.resize(length);
    return read(what, std::as_writable_bytes(std::span(out)));
}

uint64_t CheckedReader::fingerprint() const {
    // The length tells zeros at the end from those that fill up the last word.
    return hash_words(fingerprint_, std::span(window_).first(window_used_)) ^ position_;
}

// Called when position_ < size_ and the window is used up.
Status CheckedReader::refill() {
    fingerprint_ = hash_words(fingerprint_, window_);  // whole words: only the last window isn't made of them
    const size_t wanted = window_.empty() ? kFirstWindow : std::min(window_.size() * 2, kLargestWindow);
    window_.resize(static_cast<size_t>(std::min<uint64_t>(wanted, left())));
    window_used_ = 0;
    return source_.read_at(position_, window_);
}

}  // namespace takt
