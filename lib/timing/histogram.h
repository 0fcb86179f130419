// A log-linear histogram of fixed memory: ranges that double, each in 128 parts of one width, so that a value
// is known to 0.4 % (2 digits). 36 KiB, a few ns a record, added and subtracted exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "timing/percentiles.h"

namespace takt {

// Recording allocates nothing. One thread at a time.
class Histogram {
public:
    // Values below 256 are exact. From kHighest on (73 minutes, in ns) all share the last bucket; sum, lowest
    // and highest are exact always.
    static constexpr uint32_t kBuckets = 36 * 128;
    static constexpr uint64_t kHighest = (uint64_t{1} << 42) - 1;
    static uint32_t bucket_of(uint64_t value);
    static uint64_t lowest_of(uint32_t bucket);
    static uint64_t highest_of(uint32_t bucket);

    Histogram();
    Histogram(Histogram&&) noexcept = default;
    Histogram& operator=(Histogram&&) noexcept = default;

    void record(uint64_t value) { record(value, 1, value); }
    // n samples of (about) this value, whose sum is given: a gap that is divided among n tokens keeps it.
    void record(uint64_t value, uint64_t n, uint64_t sum);

    uint64_t count() const { return count_; }
    uint64_t sum() const { return sum_; }
    uint64_t lowest() const { return lowest_; }    // 0 without samples
    uint64_t highest() const { return highest_; }  // 0 without samples
    uint64_t count_of(uint32_t bucket) const { return counts_[bucket]; }
    // Samples up to a value, to the middle of its bucket.
    uint64_t count_up_to(uint64_t value) const;
    // NaN without samples. A bucket stands for its middle, kept within lowest and highest.
    double percentile(double p, PercentileRule rule = PercentileRule::nearest_rank) const;
    double mean() const;  // NaN without samples

    // This becomes a copy; cheaper than a new one where `from` fills few buckets.
    void assign(const Histogram& from);
    void add(const Histogram& other);
    // Takes away what an earlier state of the same histogram held; false, and nothing happens, if it isn't
    // one. Lowest and highest are then known to their bucket.
    bool subtract(const Histogram& earlier);
    // As stored elsewhere: what add_bucket() gave must have this sum and these ends. False if that can't be.
    bool restore(uint64_t sum, uint64_t lowest, uint64_t highest);
    bool add_bucket(uint32_t bucket, uint64_t n);  // false if it would overflow

    // The sample at this place among all, from 0 and less than count().
    double value_at(uint64_t place) const;

private:
    void find_ends();

    std::unique_ptr<uint64_t[]> counts_;
    uint64_t count_ = 0, sum_ = 0, lowest_ = 0, highest_ = 0;
    uint32_t first_ = kBuckets, end_ = 0;  // buckets in use lie between
};

}  // namespace takt
