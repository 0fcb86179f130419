// Chains of pairs by hash; few of them are looked at, and those not far back.
#include "engine/ngram_index.h"

#include <algorithm>
#include <bit>

namespace takt {
namespace {

constexpr uint32_t kMostPlaces = 64;    // of a chain that are compared
constexpr uint32_t kLongestMatch = 32;  // tokens; longer ones count as equal

uint32_t match_length(std::span<const int32_t> text, uint32_t place) {
    const auto end = static_cast<uint32_t>(text.size()) - 1;
    uint32_t n = 0;
    while (n < kLongestMatch && n <= place && text[place - n] == text[end - n]) ++n;
    return n;
}

}  // namespace

NgramIndex::NgramIndex(size_t max_tokens)
    : latest_(std::bit_ceil(std::max<size_t>(max_tokens, 16)), kNone), before_(max_tokens, kNone) {}

uint32_t& NgramIndex::bucket_of(int32_t first, int32_t second) {
    const uint64_t pair = (uint64_t{static_cast<uint32_t>(first)} << 32) | static_cast<uint32_t>(second);
    return latest_[(pair * 0x9e3779b97f4a7c15ull >> 20) & (latest_.size() - 1)];
}

// The text's last pair stays out: it would find itself.
void NgramIndex::index(std::span<const int32_t> text) {
    for (; n_indexed_ + 1 < text.size(); ++n_indexed_) {
        uint32_t& latest = bucket_of(text[n_indexed_ - 1], text[n_indexed_]);
        before_[n_indexed_] = latest;
        latest = n_indexed_;
    }
}

uint32_t NgramIndex::propose(std::span<const int32_t> text, std::span<int32_t> out) {
    if (text.size() < 3 || out.empty()) return 0;
    index(text);
    uint32_t best = kNone, best_length = 1;
    uint32_t place = bucket_of(text[text.size() - 2], text.back());
    for (uint32_t i = 0; i < kMostPlaces && place != kNone; ++i, place = before_[place]) {
        const uint32_t length = match_length(text, place);
        if (length <= best_length) continue;
        best = place;
        best_length = length;
    }
    if (best == kNone) return 0;
    const size_t n_followed = text.size() - 1 - best;
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = i < n_followed ? text[best + 1 + i] : out[i - n_followed];
    return static_cast<uint32_t>(out.size());
}

void NgramIndex::clear() {
    std::ranges::fill(latest_, kNone);
    n_indexed_ = 1;
}

}  // namespace takt
