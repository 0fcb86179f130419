// Little-endian: magic, version, counts; window; counters; gauges; origin; of each series sum, ends and the
// buckets in use; a checksum of all before it.
#include "timing/statistics_bytes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"

namespace takt {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr uint64_t kMagic = 0x5441'5453'544b'4154;  // "TAKTSTAT"
constexpr uint32_t kVersion = 1;
constexpr uint32_t kLongestText = 1u << 20;

class Writer {
public:
    template <typename T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* first = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), first, first + sizeof value);
    }
    void put_text(const std::string& text) {
        const auto size = static_cast<uint32_t>(std::min<size_t>(text.size(), kLongestText));
        put(size);
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), first, first + size);
    }
    std::vector<std::byte> finish() {
        put(checksum64(bytes_));
        return std::move(bytes_);
    }

private:
    std::vector<std::byte> bytes_;
};

// Gives zeros once it has failed.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
    template <typename T>
    T get() {
        T value{};
        if (rest_.size() < sizeof value) {
            failed_ = true;
            rest_ = {};
            return value;
        }
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_ = rest_.subspan(sizeof value);
        return value;
    }
    std::string get_text() {
        const auto size = get<uint32_t>();
        if (size > kLongestText || size > rest_.size()) {
            failed_ = true;
            return {};
        }
        std::string text(reinterpret_cast<const char*>(rest_.data()), size);
        rest_ = rest_.subspan(size);
        return text;
    }
    bool ok() const { return !failed_; }
    bool at_end() const { return rest_.empty(); }

private:
    std::span<const std::byte> rest_;
    bool failed_ = false;
};

void write_series(Writer& out, const Histogram& histogram) {
    out.put(histogram.sum());
    out.put(histogram.lowest());
    out.put(histogram.highest());
    uint32_t n_used = 0;
    for (uint32_t b = 0; b < Histogram::kBuckets; ++b) n_used += histogram.count_of(b) != 0;
    out.put(n_used);
    for (uint32_t b = 0; b < Histogram::kBuckets; ++b) {
        if (histogram.count_of(b) == 0) continue;
        out.put(b);
        out.put(histogram.count_of(b));
    }
}

bool read_series(Reader& in, Histogram& histogram) {
    const auto sum = in.get<uint64_t>(), lowest = in.get<uint64_t>(), highest = in.get<uint64_t>();
    const auto n_used = in.get<uint32_t>();
    uint32_t next = 0;
    for (uint32_t i = 0; i < n_used && in.ok(); ++i) {
        const auto bucket = in.get<uint32_t>();
        const auto n = in.get<uint64_t>();
        if (!in.ok() || bucket < next || n == 0 || !histogram.add_bucket(bucket, n)) return false;
        next = bucket + 1;
    }
    return in.ok() && histogram.restore(sum, lowest, highest);
}

Status corrupt(std::string_view what) {
    return Status(StatusCode::state_corrupt, fmt::format("The statistics can't be read: {}.", what));
}

bool is_number(double value) {
    return std::isfinite(value);
}

}  // namespace

std::vector<std::byte> export_statistics(const Statistics& statistics, const Origin& origin) {
    Writer out;
    out.put(kMagic);
    out.put(kVersion);
    out.put(static_cast<uint32_t>(sizeof(Totals)));
    out.put(kSeries);
    out.put(statistics.begin_ns);
    out.put(statistics.end_ns);
    out.put(statistics.totals);
    out.put(statistics.gauges);
    out.put(statistics.stalled_others);
    for (const std::string* text : {&origin.model_name, &origin.engine, &origin.energy_method})
        out.put_text(*text);
    out.put(static_cast<uint32_t>(origin.conditions.size()));
    for (const std::string& one : origin.conditions) out.put_text(one);
    out.put(origin.identity);
    out.put(origin.smooth.seconds_per_token);
    out.put(origin.smooth.alpha);
    out.put(static_cast<uint8_t>(origin.smooth.from_first_token));
    out.put(static_cast<uint8_t>(origin.energy_is_known));
    out.put(origin.read_bytes_per_second);
    out.put(origin.int8_operations_per_second);
    for (const Histogram& histogram : statistics.series) write_series(out, histogram);
    return out.finish();
}

Status import_statistics(std::span<const std::byte> bytes, Statistics& statistics, Origin& origin) {
    constexpr size_t kHead = sizeof kMagic + sizeof kVersion;
    if (bytes.size() < kHead + sizeof(uint64_t)) return corrupt(fmt::format("it has {} bytes", bytes.size()));
    Reader in(bytes.first(bytes.size() - sizeof(uint64_t)));
    if (in.get<uint64_t>() != kMagic) return corrupt("it doesn't begin as statistics do");
    if (const auto version = in.get<uint32_t>(); version != kVersion) {
        return Status(
            StatusCode::state_mismatch,
            fmt::format("The statistics are of version {}, this takt reads {}.", version, kVersion));
    }
    uint64_t checksum = 0;
    std::memcpy(&checksum, bytes.last(sizeof checksum).data(), sizeof checksum);
    if (checksum != checksum64(bytes.first(bytes.size() - sizeof checksum)))
        return corrupt("its checksum is wrong, so it is cut or changed");
    if (in.get<uint32_t>() != sizeof(Totals) || in.get<uint32_t>() != kSeries)
        return corrupt("it holds other counters than this version has");
    statistics.begin_ns = in.get<uint64_t>();
    statistics.end_ns = in.get<uint64_t>();
    statistics.totals = in.get<Totals>();
    statistics.gauges = in.get<Gauges>();
    statistics.stalled_others = in.get<StallList>();
    for (std::string* text : {&origin.model_name, &origin.engine, &origin.energy_method})
        *text = in.get_text();
    const auto n_conditions = in.get<uint32_t>();
    for (uint32_t i = 0; i < n_conditions && in.ok(); ++i) origin.conditions.push_back(in.get_text());
    origin.identity = in.get<uint64_t>();
    origin.smooth.seconds_per_token = in.get<double>();
    origin.smooth.alpha = in.get<double>();
    origin.smooth.from_first_token = in.get<uint8_t>() != 0;
    origin.energy_is_known = in.get<uint8_t>() != 0;
    origin.read_bytes_per_second = in.get<double>();
    origin.int8_operations_per_second = in.get<double>();
    for (Histogram& histogram : statistics.series) {
        if (!read_series(in, histogram)) return corrupt("a histogram contradicts itself");
    }
    const Totals& totals = statistics.totals;
    const bool numbers = is_number(totals.smooth_benefit) && is_number(totals.smooth_benefit_floored) &&
                         is_number(origin.smooth.seconds_per_token) && is_number(origin.smooth.alpha) &&
                         is_number(origin.read_bytes_per_second) &&
                         is_number(origin.int8_operations_per_second);
    if (!in.ok() || !in.at_end()) return corrupt("it has another length than it says");
    if (!numbers || statistics.end_ns < statistics.begin_ns) return corrupt("a number is none");
    if (!std::ranges::all_of(origin.conditions,
                             [](const std::string& one) { return nlohmann::json::accept(one); }))
        return corrupt("its conditions are no JSON");
    return {};
}

}  // namespace takt
