// Stop strings may span tokens: the end of the text that could still become one is held back.
#include "engine/text_stream.h"

#include <algorithm>

#include "base/utf8.h"

namespace takt {
namespace {

constexpr size_t kUsualBytes = 256;  // of one token's text; longer ones grow the buffers once
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

TextStream::TextStream(std::shared_ptr<const TokenTexts> texts, std::vector<std::string> stop_strings)
    : texts_(std::move(texts)), stop_strings_(std::move(stop_strings)) {
    size_t longest = 0;
    for (const std::string& stop : stop_strings_) longest = std::max(longest, stop.size());
    pending_.reserve(kUsualBytes);
    held_.reserve(longest + kUsualBytes);
    out_.reserve(longest + kUsualBytes);
}

// Moves the characters that are decided from pending_ to held_; bytes that are none, and at the end those of
// an unfinished one, become U+FFFD.
void TextStream::complete(bool at_end) {
    size_t pos = 0;
    while (pos < pending_.size()) {
        const Utf8Step step = utf8_step(pending_, pos);
        if (step.kind == Utf8Kind::incomplete && !at_end) break;
        if (step.kind == Utf8Kind::valid) {
            held_.append(pending_, pos, step.size);
        } else {
            held_ += kReplacement;
        }
        pos += step.size;
    }
    pending_.erase(0, pos);
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
std::string_view TextStream::release() {
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
    std::string_view bytes = texts_->bytes(id);
    if (texts_->is_special(id)) {
        at_start_ = texts_->strips_leading_space();
    } else if (at_start_ && !bytes.empty()) {
        if (bytes.front() == ' ') bytes.remove_prefix(1);
        at_start_ = false;
    }
    pending_ += bytes;
    complete(false);
    return release();
}

std::string_view TextStream::flush() {
    if (stopped_) return {};
    complete(true);
    release();
    out_ += held_;
    held_.clear();
    return out_;
}

}  // namespace takt
