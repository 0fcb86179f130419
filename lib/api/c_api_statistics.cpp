// Snapshots: taken, compared, put together, told; promises and percentiles.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "api/arguments.h"
#include "api/copy_out.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/slo.h"
#include "api/struct_copy.h"
#include "api/totals.h"
#include "timing/percentiles.h"
#include "timing/statistics_bytes.h"

using namespace takt;
using namespace takt::api;

namespace {

// The names of a metric with their ends, for as long as the library lives.
struct MetricNames {
    std::string name, prometheus, opentelemetry, help;
};

const std::vector<MetricNames>& metric_names() {
    static const std::vector<MetricNames> all = [] {
        std::vector<MetricNames> names;
        for (const Metric& metric : metrics()) {
            names.push_back({std::string(metric.name), "takt_" + std::string(metric.prometheus),
                             std::string(metric.opentelemetry), std::string(metric.help)});
        }
        return names;
    }();
    return all;
}

Status check_metric(size_t metric) {
    if (metric < metrics().size()) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("metric is {}, there are {}.", metric, metrics().size()));
}

Status check_percentile(double part, uint32_t rule) {
    TAKT_RETURN_IF_ERROR(check_choice(rule, TAKT_PERCENTILE_LINEAR, "rule", "TAKT_PERCENTILE_…"));
    if (part >= 0 && part <= 1) return {};
    return Status(StatusCode::invalid_argument, fmt::format("part is {}, must be 0 to 1.", part));
}

template <typename Text>
takt_status give_text(const takt_snapshot* snapshot, char* out_text, size_t capacity, size_t* out_bytes,
                      Text text) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(snapshot);
        TAKT_RETURN_IF_ERROR(check_buffer(out_text, capacity, out_bytes, "out_text", "out_bytes"));
        const std::string whole = text(snapshot->statistics, snapshot->origin);
        return copy_out<char>(whole, out_text, capacity, out_bytes, "out_text");
    });
}

std::unique_ptr<takt_snapshot> copy_of(const takt_snapshot& snapshot) {
    auto copy = std::make_unique<takt_snapshot>();
    copy->statistics.assign(snapshot.statistics);
    copy->origin = snapshot.origin;
    return copy;
}

}  // namespace

takt_status takt_engine_snapshot(const takt_engine* engine, takt_snapshot** out_snapshot) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_snapshot);
        *out_snapshot = nullptr;
        TAKT_RETURN_IF_NULL(engine);
        const EngineCalls::Call call(*engine->calls);
        TAKT_RETURN_IF_ERROR(call.status());
        TAKT_RETURN_IF_ERROR(call.engine()->refuse_in_forked_child());
        auto snapshot = std::make_unique<takt_snapshot>();
        snapshot->origin = call.engine()->origin();
        call.engine()->snapshot(snapshot->statistics);
        *out_snapshot = snapshot.release();
        return {};
    });
}

void takt_snapshot_destroy(takt_snapshot* snapshot) {
    delete snapshot;
}

takt_status takt_snapshot_difference(const takt_snapshot* later, const takt_snapshot* earlier,
                                     takt_snapshot** out_snapshot) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_snapshot);
        *out_snapshot = nullptr;
        TAKT_RETURN_IF_NULL(later);
        TAKT_RETURN_IF_NULL(earlier);
        auto snapshot = copy_of(*later);
        const bool same = later->origin.identity == earlier->origin.identity;
        if (!same || !snapshot->statistics.subtract(earlier->statistics)) {
            return Status(
                StatusCode::invalid_argument,
                fmt::format("earlier (engine {}, {} steps) is no earlier snapshot of the engine of later "
                            "(engine {}, {} steps).",
                            earlier->origin.engine, earlier->statistics.totals.n_steps, later->origin.engine,
                            later->statistics.totals.n_steps));
        }
        *out_snapshot = snapshot.release();
        return {};
    });
}

takt_status takt_snapshot_merge(const takt_snapshot* one, const takt_snapshot* other,
                                takt_snapshot** out_snapshot) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_snapshot);
        *out_snapshot = nullptr;
        TAKT_RETURN_IF_NULL(one);
        TAKT_RETURN_IF_NULL(other);
        auto snapshot = copy_of(*one);
        snapshot->statistics.merge(other->statistics);
        snapshot->origin.merge(other->origin);
        *out_snapshot = snapshot.release();
        return {};
    });
}

takt_status takt_snapshot_totals(const takt_snapshot* snapshot, takt_totals* out_totals) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(snapshot);
        TAKT_RETURN_IF_ERROR(check_output(out_totals, "out_totals"));
        write_struct(make_totals(snapshot->statistics, snapshot->origin), out_totals);
        return {};
    });
}

size_t takt_metric_count(void) {
    return guard_value(size_t{0}, [] { return metrics().size(); });
}

takt_status takt_metric_get(size_t index, takt_metric_info* out_info) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_ERROR(check_output(out_info, "out_info"));
        TAKT_RETURN_IF_ERROR(check_metric(index));
        const MetricNames& names = metric_names()[index];
        takt_metric_info info{};
        info.name = names.name.c_str();
        info.prometheus_name = names.prometheus.c_str();
        info.opentelemetry_name = names.opentelemetry.c_str();
        info.unit = metrics()[index].is_time ? "ns" : "tokens";
        info.help = names.help.c_str();
        write_struct(info, out_info);
        return {};
    });
}

takt_status takt_snapshot_histogram(const takt_snapshot* snapshot, size_t metric,
                                    takt_histogram* out_histogram) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(snapshot);
        TAKT_RETURN_IF_ERROR(check_output(out_histogram, "out_histogram"));
        TAKT_RETURN_IF_ERROR(check_metric(metric));
        const Histogram histogram = histogram_of(snapshot->statistics, metrics()[metric]);
        takt_histogram out{};
        out.count = histogram.count();
        out.sum = histogram.sum();
        out.lowest = histogram.lowest();
        out.highest = histogram.highest();
        out.mean = histogram.mean();
        out.p50 = histogram.percentile(0.5);
        out.p90 = histogram.percentile(0.9);
        out.p95 = histogram.percentile(0.95);
        out.p99 = histogram.percentile(0.99);
        out.p999 = histogram.percentile(0.999);
        write_struct(out, out_histogram);
        return {};
    });
}

takt_status takt_snapshot_percentile(const takt_snapshot* snapshot, size_t metric, double part, uint32_t rule,
                                     double* out_value, uint64_t* out_count) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(snapshot);
        TAKT_RETURN_IF_NULL(out_value);
        TAKT_RETURN_IF_ERROR(check_metric(metric));
        TAKT_RETURN_IF_ERROR(check_percentile(part, rule));
        const Histogram histogram = histogram_of(snapshot->statistics, metrics()[metric]);
        *out_value = histogram.percentile(part, static_cast<PercentileRule>(rule));
        if (out_count != nullptr) *out_count = histogram.count();
        return {};
    });
}

takt_status takt_percentile(double* samples, size_t count, double part, uint32_t rule, double* out_value) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_value);
        if (samples == nullptr && count > 0)
            return Status(StatusCode::invalid_argument, fmt::format("samples is NULL, count is {}.", count));
        TAKT_RETURN_IF_ERROR(check_percentile(part, rule));
        const std::span<double> all(samples, count);
        if (const auto nan = std::ranges::find_if(all, [](double v) { return std::isnan(v); });
            nan != all.end())
            return Status(StatusCode::invalid_argument,
                          fmt::format("samples[{}] is NaN.", nan - all.begin()));
        std::ranges::sort(all);
        *out_value = percentile(all, part, static_cast<PercentileRule>(rule));
        return {};
    });
}

takt_status takt_snapshot_json(const takt_snapshot* snapshot, char* out_text, size_t capacity,
                               size_t* out_bytes) {
    return give_text(snapshot, out_text, capacity, out_bytes, statistics_json);
}

takt_status takt_snapshot_prometheus(const takt_snapshot* snapshot, char* out_text, size_t capacity,
                                     size_t* out_bytes) {
    return give_text(snapshot, out_text, capacity, out_bytes, prometheus_text);
}

takt_status takt_snapshot_export(const takt_snapshot* snapshot, void* out_data, size_t capacity,
                                 size_t* out_bytes) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(snapshot);
        auto* out = static_cast<std::byte*>(out_data);
        TAKT_RETURN_IF_ERROR(check_buffer(out, capacity, out_bytes, "out_data", "out_bytes"));
        const std::vector<std::byte> bytes = export_statistics(snapshot->statistics, snapshot->origin);
        return copy_out<std::byte>(bytes, out, capacity, out_bytes, "out_data");
    });
}

takt_status takt_snapshot_import(const void* data, size_t data_bytes, takt_snapshot** out_snapshot) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_snapshot);
        *out_snapshot = nullptr;
        TAKT_RETURN_IF_NULL(data);
        auto snapshot = std::make_unique<takt_snapshot>();
        TAKT_RETURN_IF_ERROR(import_statistics({static_cast<const std::byte*>(data), data_bytes},
                                               snapshot->statistics, snapshot->origin));
        *out_snapshot = snapshot.release();
        return {};
    });
}
