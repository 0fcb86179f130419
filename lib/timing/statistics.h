// What an engine did, in numbers that add up over engines, processes and machines: counters and histograms.
// Everything of a request is recorded when it ends, so that all series speak of the same requests.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timing/histogram.h"
#include "timing/slo.h"

namespace takt {

// In ns unless the name says tokens. The order is that of exported bytes: new ones go to the end.
enum class Series : uint32_t {
    ttft_first_miss,  // TTFT of requests that were answered: first turn, nothing of the prompt was cached
    ttft_first_hit,
    ttft_later_miss,  // later turns of a conversation
    ttft_later_hit,
    ttft_cancelled,
    queue,
    prefill,
    preempted,
    handover,  // of imported requests
    decode,
    inference,  // prefill, decode and finish
    tpot,
    tpot_n1,
    tpot_cancelled,
    itl,
    step_gap,
    e2e,
    e2e_cancelled,
    e2e_failed,
    prompt_tokens,
    generated_tokens,
    step_tokens,    // rows of a step
    page_lifetime,  // from when a page was taken until nobody finds it any more
};
inline constexpr uint32_t kSeries = 23;

// Counters since the engine was made. Only these two number types, without padding: they are added,
// subtracted and stored by their place.
struct Totals {
    std::array<uint64_t, kFinishReasons> finished{};  // requests by FinishReason
    uint64_t shed = 0;                                // refused, because as many waited as may
    uint64_t prompt_tokens = 0;                       // of requests that were scheduled
    uint64_t prompt_tokens_computed = 0, prompt_tokens_cached = 0;
    uint64_t generated_tokens = 0;
    uint64_t decoded_tokens = 0;  // of them, those behind a request's first step
    uint64_t n_steps = 0, n_preemptions = 0, n_slides = 0;
    uint64_t n_draft_steps = 0;  // times that a request's drafts were verified
    uint64_t drafted_tokens = 0, accepted_tokens = 0;
    std::array<uint64_t, 16> drafted_at{}, accepted_at{};  // by their place behind the last token
    // Wall time of steps: all, those that held prompt rows, those that held decode rows; of the draft model.
    uint64_t step_ns = 0, prefill_step_ns = 0, decode_step_ns = 0, draft_ns = 0;
    uint64_t read_bytes = 0;  // weights once a step, keys and values
    uint64_t product_operations = 0, attention_operations = 0;
    GapCauses gaps;                              // step gaps of requests that were answered or cancelled
    uint64_t slo_good = 0, slo_missed = 0;       // requests with bounds, by verdict
    std::array<uint64_t, kBounds> slo_broken{};  // of those missed, how many broke each
    uint64_t slo_failed = 0;                     // of those missed: failed or shed
    uint64_t good_tokens = 0;                    // of slo_good
    uint64_t energy_microjoules = 0;             // where readable
    double smooth_benefit = 0, smooth_benefit_floored = 0;  // tokens; the second without negative ones

    Totals& operator+=(const Totals& other);
};

struct TotalsField {
    std::string_view name;
    uint64_t Totals::* field;
};
std::span<const TotalsField> totals_fields();

// What an engine holds now. Of several engines: all together.
struct Gauges {
    uint64_t n_running = 0, n_waiting = 0, max_sequences = 0;
    uint64_t pages_in_use = 0, pages_cached = 0, pages_total = 0, page_tokens = 0;
    double page_waste = std::numeric_limits<double>::quiet_NaN();
};

// What is told of a request when it has ended.
struct EndedRequest {
    const Timeline& timeline;
    const TimingSummary& summary;  // up to ended_ns; phases are enough
    FinishReason reason;
    const Slo& slo;
    uint64_t ended_ns = 0;
    bool imported = false;
    uint64_t number = 0;  // of the request
};

// Where numbers come from, for whoever reads them later.
struct Origin {
    std::string model_name, engine;  // labels of Prometheus; of a merge those of the first
    std::vector<std::string>
        conditions;  // JSON objects; of a merge those that differ, the first kMostConditions
    SmoothRule smooth;
    bool energy_is_known = false;
    std::string energy_method;  // "" where it isn't known
    // Limits that were measured on this machine, 0 where not.
    double read_bytes_per_second = 0, int8_operations_per_second = 0;

    uint64_t identity = 0;  // of the engine: no other, in any process, is likely to have it

    static constexpr size_t kMostConditions = 64, kLongestLabel = 256;
    // Of engines together. Limits and energy belong to one machine: of several they aren't known.
    void merge(const Origin& other);
};

struct Statistics {
    Totals totals;
    Gauges gauges;
    std::array<Histogram, kSeries> series;
    // The requests whose prompts stalled others most, and for how long, all together. Of an engine from its
    // making on, also in a difference; of a merge those of the first.
    StallList stalled_others;
    uint64_t begin_ns = 0, end_ns = 0;  // on the runtime's clock; of a merge the longest of its windows

    Histogram& operator[](Series s) { return series[static_cast<size_t>(s)]; }
    const Histogram& operator[](Series s) const { return series[static_cast<size_t>(s)]; }
    double seconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-9; }

    void record(const EndedRequest& request, const SmoothRule& smooth);
    void record_shed(const Slo& slo);
    void assign(const Statistics& from);
    // Other engines beside this one, in the same time.
    void merge(const Statistics& other);
    // Leaves what came since an earlier state of the same engine; false if it isn't one.
    bool subtract(const Statistics& earlier);
};

// Rates and shares, NaN where undefined.
struct Rates {
    double prefill_tokens_per_second, decode_tokens_per_second, output_tokens_per_second, requests_per_second;
    double attainment, attainment_low, attainment_high;  // Wilson, 95 %
    uint64_t judged;
    double goodput_requests_per_second, goodput_tokens_per_second;
    double smooth_goodput, smooth_goodput_floored;  // tokens/s
    double prefix_hit_rate, draft_acceptance_rate, acceptance_length;
    double read_bytes_per_second, operations_per_second;  // during steps
    double share_of_read, share_of_int8;
    double joules, joules_per_token;
};
Rates rates_of(const Statistics& statistics, const Origin& origin);

// Distributions that the interface gives: a series, or several together.
struct Metric {
    std::string_view name;           // "ttft"
    std::string_view prometheus;     // without prefix; several metrics may share it, told apart by labels
    std::string_view labels;         // "outcome=\"ok\"", or ""
    std::string_view opentelemetry;  // or ""
    std::string_view help;
    std::vector<Series> series;
    bool is_time = true;   // ns; else tokens
    bool exported = true;  // to Prometheus: sums of others aren't
};
std::span<const Metric> metrics();
Histogram histogram_of(const Statistics& statistics, const Metric& metric);

std::string prometheus_text(const Statistics& statistics, const Origin& origin);
std::string statistics_json(const Statistics& statistics, const Origin& origin);

}  // namespace takt
