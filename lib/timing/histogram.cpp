// The layout of HdrHistogram with 256 parts in the first range and 128 in each that follows.
#include "timing/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace takt {
namespace {

constexpr uint32_t kHalf = 128;     // parts of a range
constexpr uint32_t kExactBits = 8;  // below 256 each value has its own bucket

}  // namespace

static_assert(Histogram::kBuckets * sizeof(uint64_t) == size_t{36} << 10);

uint32_t Histogram::bucket_of(uint64_t value) {
    value = std::min(value, kHighest);
    const auto width = static_cast<uint32_t>(std::bit_width(value));
    const uint32_t shift = width > kExactBits ? width - kExactBits : 0;
    return shift * kHalf + static_cast<uint32_t>(value >> shift);
}

uint64_t Histogram::lowest_of(uint32_t bucket) {
    const uint32_t shift = bucket < 2 * kHalf ? 0 : bucket / kHalf - 1;
    return uint64_t{bucket - shift * kHalf} << shift;
}

uint64_t Histogram::highest_of(uint32_t bucket) {
    const uint32_t shift = bucket < 2 * kHalf ? 0 : bucket / kHalf - 1;
    return lowest_of(bucket) + (uint64_t{1} << shift) - 1;
}

Histogram::Histogram() : counts_(std::make_unique<uint64_t[]>(kBuckets)) {}

void Histogram::record(uint64_t value, uint64_t n, uint64_t sum) {
    if (n == 0) return;
    const uint32_t bucket = bucket_of(value);
    counts_[bucket] += n;
    first_ = std::min(first_, bucket);
    end_ = std::max(end_, bucket + 1);
    lowest_ = count_ == 0 ? value : std::min(lowest_, value);
    highest_ = std::max(highest_, value);
    count_ += n;
    sum_ += sum;
}

uint64_t Histogram::count_up_to(uint64_t value) const {
    uint64_t n = 0;
    for (uint32_t b = first_; b < end_; ++b) {
        const uint64_t low = lowest_of(b), middle = low + (highest_of(b) - low) / 2;
        if (middle > value) break;
        if (b == kBuckets - 1 && highest_ > value) break;  // it holds what is larger than any bucket, too
        n += counts_[b];
    }
    return n;
}

double Histogram::value_at(uint64_t place) const {
    uint64_t seen = 0;
    for (uint32_t b = first_; b < end_; ++b) {
        seen += counts_[b];
        if (seen <= place) continue;
        if (b == kBuckets - 1) return static_cast<double>(highest_);
        const double middle = (static_cast<double>(lowest_of(b)) + static_cast<double>(highest_of(b))) / 2;
        return std::clamp(middle, static_cast<double>(lowest_), static_cast<double>(highest_));
    }
    return static_cast<double>(highest_);
}

double Histogram::percentile(double p, PercentileRule rule) const {
    if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
    const PercentilePlace place = percentile_place(count_, p, rule);
    const double below = value_at(place.below);
    return place.between == 0 ? below : below + (value_at(place.above) - below) * place.between;
}

double Histogram::mean() const {
    if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(sum_) / static_cast<double>(count_);
}

void Histogram::assign(const Histogram& from) {
    if (first_ < end_) std::fill(counts_.get() + first_, counts_.get() + end_, 0);
    if (from.first_ < from.end_)
        std::copy(from.counts_.get() + from.first_, from.counts_.get() + from.end_,
                  counts_.get() + from.first_);
    count_ = from.count_;
    sum_ = from.sum_;
    lowest_ = from.lowest_;
    highest_ = from.highest_;
    first_ = from.first_;
    end_ = from.end_;
}

void Histogram::add(const Histogram& other) {
    if (other.count_ == 0) return;
    for (uint32_t b = other.first_; b < other.end_; ++b) counts_[b] += other.counts_[b];
    lowest_ = count_ == 0 ? other.lowest_ : std::min(lowest_, other.lowest_);
    highest_ = std::max(highest_, other.highest_);
    count_ += other.count_;
    sum_ += other.sum_;
    first_ = std::min(first_, other.first_);
    end_ = std::max(end_, other.end_);
}

bool Histogram::subtract(const Histogram& earlier) {
    if (earlier.count_ == 0) return true;
    if (earlier.sum_ > sum_) return false;
    for (uint32_t b = earlier.first_; b < earlier.end_; ++b) {
        if (earlier.counts_[b] > counts_[b]) return false;
    }
    for (uint32_t b = earlier.first_; b < earlier.end_; ++b) counts_[b] -= earlier.counts_[b];
    count_ -= earlier.count_;
    sum_ -= earlier.sum_;
    find_ends();
    return true;
}

void Histogram::find_ends() {
    while (first_ < end_ && counts_[first_] == 0) ++first_;
    while (end_ > first_ && counts_[end_ - 1] == 0) --end_;
    if (first_ == end_) {
        first_ = kBuckets;
        end_ = 0;
        lowest_ = highest_ = 0;
        return;
    }
    lowest_ = std::max(lowest_, lowest_of(first_));
    if (end_ < kBuckets) highest_ = std::min(highest_, highest_of(end_ - 1));
}

bool Histogram::add_bucket(uint32_t bucket, uint64_t n) {
    if (bucket >= kBuckets || n > std::numeric_limits<uint64_t>::max() - count_) return false;
    if (n == 0) return true;
    counts_[bucket] += n;
    count_ += n;
    first_ = std::min(first_, bucket);
    end_ = std::max(end_, bucket + 1);
    return true;
}

bool Histogram::restore(uint64_t sum, uint64_t lowest, uint64_t highest) {
    sum_ = sum;
    lowest_ = lowest;
    highest_ = highest;
    if (count_ == 0) return sum == 0 && lowest == 0 && highest == 0;
    return lowest <= highest && bucket_of(lowest) == first_ && bucket_of(highest) == end_ - 1;
}

}  // namespace takt
