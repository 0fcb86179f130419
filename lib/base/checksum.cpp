// Eight independent lanes, since one chain of multiplications would wait for itself.
#include "base/checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace takt {
namespace {

static_assert(std::endian::native == std::endian::little, "words are taken as they lie in memory");

constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
constexpr size_t kLanes = 8, kStripeBytes = kLanes * sizeof(uint64_t);

// One to one in `hash` and in `word`: a changed word is never lost again. The shift spreads a change of the
// top bits, so that no other single bit undoes it.
uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * kFactor;
    return hash ^ hash >> 29;
}

}  // namespace

uint64_t checksum64(std::span<const std::byte> bytes, uint64_t seed) {
    std::array<uint64_t, kLanes> lanes{};
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = kFactor * (i + 1);
    const size_t whole = bytes.size() / kStripeBytes * kStripeBytes;
    for (size_t at = 0; at < whole; at += kStripeBytes) {
        std::array<uint64_t, kLanes> words;
        std::memcpy(words.data(), bytes.data() + at, kStripeBytes);
        for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], words[i]);
    }
    std::array<uint64_t, kLanes> rest{};  // filled up with zeros; the length tells them from the data
    if (whole < bytes.size()) std::memcpy(rest.data(), bytes.data() + whole, bytes.size() - whole);
    uint64_t hash = mix(mix(kFactor, seed), bytes.size());
    for (size_t i = 0; i < kLanes; ++i) hash = mix(hash, mix(lanes[i], rest[i]));
    hash *= kFactor;
    return hash ^ hash >> 32;
}

}  // namespace takt
