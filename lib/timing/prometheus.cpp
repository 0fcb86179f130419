// Prometheus' text format 0.0.4. Buckets are those of metrics.md 1.5; a bucket's count is known to the 0.4 %
// of a value that the histograms resolve.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"
#include "timing/statistics.h"

namespace takt {
namespace {

constexpr double kTtftBuckets[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                   1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
constexpr double kTokenBuckets[] = {.0005, .001, .002, .003, .005, .0075, .01, .025, .05, .075, .1, .15, .2,
                                    .3,    .4,   .5,   .75,  1,    2.5,   5,   7.5,  10,  20,   40, 80};
constexpr double kRequestBuckets[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                      30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
constexpr double kCountBuckets[] = {1,   2,    5,    10,   20,    50,    100,   200,
                                    500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

std::span<const double> buckets_of(const Metric& metric) {
    if (!metric.is_time) return kCountBuckets;
    if (metric.prometheus == "time_to_first_token_seconds") return kTtftBuckets;
    const bool of_tokens = metric.prometheus == "inter_token_latency_seconds" ||
                           metric.prometheus == "step_gap_seconds" ||
                           metric.prometheus.starts_with("request_time_per_output_token");
    return of_tokens ? std::span<const double>(kTokenBuckets) : std::span<const double>(kRequestBuckets);
}

std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : valid_utf8(value)) {
        if (c == '\\' || c == '"') text += '\\';
        if (c == '\n') {
            text += "\\n";
        } else {
            text += c;
        }
    }
    return text;
}

class Writer {
public:
    explicit Writer(const Origin& origin)
        : common_(fmt::format(R"(model_name="{}",engine="{}")", escaped(origin.model_name),
                              escaped(origin.engine))) {}

    void begin(std::string_view name, std::string_view type, std::string_view help) {
        if (name == current_) return;
        current_ = name;
        append("# HELP takt_{} {}\n# TYPE takt_{} {}\n", name, help, name, type);
    }
    template <typename T>
    void sample(std::string_view name, std::string_view labels, T value) {
        append("takt_{}{{{}{}{}}} {}\n", name, common_, labels.empty() ? "" : ",", labels, value);
    }
    template <typename T>
    void single(std::string_view name, std::string_view type, std::string_view help, T value) {
        begin(name, type, help);
        sample(name, "", value);
    }
    void histogram(const Metric& metric, const Histogram& histogram) {
        begin(metric.prometheus, "histogram", metric.help);
        const double unit = metric.is_time ? 1e9 : 1;
        const std::string bucket = fmt::format("{}_bucket", metric.prometheus);
        const std::string comma = metric.labels.empty() ? "" : fmt::format("{},", metric.labels);
        for (const double le : buckets_of(metric)) {
            const uint64_t n = histogram.count_up_to(static_cast<uint64_t>(std::llround(le * unit)));
            sample(bucket, fmt::format("{}le=\"{}\"", comma, le), n);
        }
        sample(bucket, fmt::format("{}le=\"+Inf\"", comma), histogram.count());
        sample(fmt::format("{}_sum", metric.prometheus), metric.labels,
               static_cast<double>(histogram.sum()) / unit);
        sample(fmt::format("{}_count", metric.prometheus), metric.labels, histogram.count());
    }
    std::string take() { return std::move(text_); }

private:
    template <typename... Arguments>
    void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    }
    std::string common_, text_, current_;
};

double in_seconds(uint64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

void write_requests(Writer& out, const Totals& t) {
    const std::string_view name = "request_success_total";
    out.begin(name, "counter", "Requests that ended, by why");
    for (uint32_t r = 1; r < kFinishReasons; ++r)
        out.sample(name,
                   fmt::format("finished_reason=\"{}\"", finish_reason_name(static_cast<FinishReason>(r))),
                   t.finished[r]);
    out.single("requests_shed_total", "counter", "Requests refused because too many waited", t.shed);
    out.single("prompt_tokens_total", "counter", "Prompt tokens of scheduled requests", t.prompt_tokens);
    out.single("prompt_tokens_computed_total", "counter", "Prompt tokens that were computed",
               t.prompt_tokens_computed);
    out.single("generation_tokens_total", "counter", "Generated tokens", t.generated_tokens);
    out.single("prefix_cache_queries_total", "counter", "Prompt tokens that were looked up", t.prompt_tokens);
    out.single("prefix_cache_hits_total", "counter", "Prompt tokens taken from earlier work",
               t.prompt_tokens_cached);
    out.single("num_preemptions_total", "counter", "Times that a request gave its pages away",
               t.n_preemptions);
}

void write_drafts(Writer& out, const Totals& t) {
    out.single("spec_decode_num_drafts_total", "counter", "Times that drafts were verified", t.n_draft_steps);
    out.single("spec_decode_num_draft_tokens_total", "counter", "Drafts that were verified",
               t.drafted_tokens);
    out.single("spec_decode_num_accepted_tokens_total", "counter", "Drafts that were accepted",
               t.accepted_tokens);
    const std::string_view name = "spec_decode_num_accepted_tokens_per_pos_total";
    out.begin(name, "counter", "Accepted drafts by their place");
    for (size_t i = 0; i + 1 < t.accepted_at.size(); ++i)
        out.sample(name, fmt::format("position=\"{}\"", i), t.accepted_at[i]);
}

void write_time(Writer& out, const Totals& t) {
    out.begin("step_seconds_total", "counter", "Wall time of steps, by the rows that they held");
    out.sample("step_seconds_total", "rows=\"any\"", in_seconds(t.step_ns));
    out.sample("step_seconds_total", "rows=\"prefill\"", in_seconds(t.prefill_step_ns));
    out.sample("step_seconds_total", "rows=\"decode\"", in_seconds(t.decode_step_ns));
    out.begin("step_gap_cause_seconds_total", "counter", "Step gaps by what they were spent on");
    for (const GapCause& cause : kGapCauses)
        out.sample("step_gap_cause_seconds_total", fmt::format("cause=\"{}\"", cause.name),
                   in_seconds(t.gaps.*cause.ns));
    out.single("steps_total", "counter", "Runs of the backend", t.n_steps);
    out.single("read_bytes_total", "counter", "Bytes of weights, keys and values that steps read",
               t.read_bytes);
    out.single("operations_total", "counter", "Multiplications and additions of steps",
               t.product_operations + t.attention_operations);
}

void write_promises(Writer& out, const Totals& t, const Origin& origin) {
    out.begin("slo_requests_total", "counter", "Requests with bounds, by whether they kept them");
    out.sample("slo_requests_total", "verdict=\"good\"", t.slo_good);
    out.sample("slo_requests_total", "verdict=\"missed\"", t.slo_missed);
    out.begin("slo_broken_total", "counter", "Missed requests by the bounds that they broke");
    for (uint32_t b = 0; b < kBounds; ++b)
        out.sample("slo_broken_total", fmt::format("bound=\"{}\"", bound_name(static_cast<Bound>(b))),
                   t.slo_broken[b]);
    out.single("goodput_tokens_total", "counter", "Tokens of requests that kept their bounds", t.good_tokens);
    out.single(
        "smooth_benefit_tokens", "gauge",
        fmt::format(
            "Tokens less {} for each second that a request's latest token was late, one due every {} s "
            "from the {}",
            origin.smooth.alpha, origin.smooth.seconds_per_token,
            origin.smooth.from_first_token ? "first token" : "arrival"),
        t.smooth_benefit);
    if (origin.energy_is_known)
        out.single("energy_joules_total", "counter",
                   fmt::format("Energy of the machine ({})", origin.energy_method),
                   static_cast<double>(t.energy_microjoules) * 1e-6);
}

void write_gauges(Writer& out, const Gauges& g) {
    out.single("num_requests_running", "gauge", "Requests that run", g.n_running);
    out.single("num_requests_waiting", "gauge", "Requests that wait", g.n_waiting);
    out.single(
        "kv_cache_usage_perc", "gauge", "Part of the pages that requests hold, 0 to 1",
        g.pages_total == 0 ? 0.0 : static_cast<double>(g.pages_in_use) / static_cast<double>(g.pages_total));
    if (!std::isnan(g.page_waste))
        out.single("kv_cache_waste_ratio", "gauge", "Part of held pages that holds nothing, 0 to 1",
                   g.page_waste);
}

}  // namespace

std::string prometheus_text(const Statistics& statistics, const Origin& origin) {
    Writer out(origin);
    std::vector<std::string_view> told;
    for (const Metric& first : metrics()) {  // samples of one name stand together
        if (!first.exported || std::ranges::find(told, first.prometheus) != told.end()) continue;
        told.push_back(first.prometheus);
        for (const Metric& metric : metrics()) {
            if (metric.exported && metric.prometheus == first.prometheus)
                out.histogram(metric, histogram_of(statistics, metric));
        }
    }
    write_requests(out, statistics.totals);
    write_drafts(out, statistics.totals);
    write_time(out, statistics.totals);
    write_promises(out, statistics.totals, origin);
    write_gauges(out, statistics.gauges);
    return out.take();
}

}  // namespace takt
