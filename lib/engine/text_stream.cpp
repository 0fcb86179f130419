// Stop strings may span tokens: the end of the text that could still become one is held back.
#include "engine/text_stream.h"

#include <algorithm>

namespace takt {
namespace {

constexpr size_t kUsualBytes = 256;   // of one token's text; longer ones grow the buffers once

}  // namespace

TextStream::TextStream(std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> stop_strings)
    : detokenizer_(std::move(tokenizer), /*keep_special=*/false, /*continues_text=*/true), stop_strings_(std::move(stop_strings)) {
    size_t longest = 0;
    for (const std::string& stop : stop_strings_) longest = std::max(longest, stop.size());
    held_.reserve(longest + kUsualBytes);
    out_.reserve(longest + kUsualBytes);
}

// Bytes at the end of held_ that are the beginning of some stop string.
size_t TextStream::held_bytes() const {
    size_t longest = 0;
    for (const std::string& stop : stop_strings_) {
        for (size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n) {
            if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) longest = n;
        }
    }
    return longest;
}

// The stop string that begins first ends the text; of what was held before, nothing can be one.
std::string_view TextStream::release(std::string_view fresh) {
    held_ += fresh;
    size_t end = std::string::npos;
    for (const std::string& stop : stop_strings_) end = std::min(end, held_.find(stop));
    stopped_ = end != std::string::npos;
    if (!stopped_) end = held_.size() - held_bytes();
    out_.assign(held_, 0, end);
    held_.erase(0, end);
    if (stopped_) held_.clear();
    return out_;
}

std::string_view TextStream::append(int32_t id) {
    if (stopped_) return {};
    return release(detokenizer_.append(id, /*valid_only=*/true));
}

std::string_view TextStream::flush() {
    if (stopped_) return {};
    release(detokenizer_.flush(/*valid_only=*/true));
    out_ += held_;
    held_.clear();
    return out_;
}

}  // namespace takt
