// A scenario's report for people, and its chart.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bench/scenario_report.h"
#include "numbers/chart.h"

namespace cli {
namespace {

std::string number_text(const Json& value, const char* form = "{:.2f}") {
    return value.is_null() ? "undefined" : fmt::format(fmt::runtime(form), value.get<double>());
}

std::string ms(const Json& ns) {
    return ns.is_null() ? "undefined" : fmt::format("{:.2f}", ns.get<double>() / 1e6);
}

// Of a list with failed requests in it, null is infinite.
std::string row(const char* name, const Json& p, const char* null_word = "-") {
    if (p.at("n") == 0) return fmt::format("{:<28} none\n", name);
    const auto cell = [&](const char* key) { return p.at(key).is_null() ? null_word : ms(p.at(key)); };
    const std::string mark =
        p.at("p99_mark").is_null() ? "" : fmt::format(" ({})", p.at("p99_mark").get<std::string>());
    return fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10}  n {}{}\n", name, cell("p50"), cell("p90"),
                       cell("p95"), cell("p99"), cell("max"), p.at("n").get<uint64_t>(),
                       mark.empty() ? "" : ", p99" + mark);
}

std::string times_text(const Json& r) {
    std::string text = fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10}  ms, {}\n", "", "p50", "p90",
                                   "p95", "p99", "max", r.at("percentile_rule").get<std::string>());
    text += row("TTFT from schedule", r.at("ttft_ns"));
    text += row("TTFT from submit", r.at("ttft_takt_ns"));
    text += row("TPOT", r.at("tpot_ns"));
    text += row("ITL", r.at("itl_ns"));
    text += row("step gap", r.at("step_gap_ns"));
    text += row("E2E from schedule", r.at("e2e_ns"));
    text += row("issue delay", r.at("issue_delay_ns"));
    if (r.at("scenario") == "multi-stream") text += row("query", r.at("query_ns"));
    if (r.at("failed") != 0) {
        text += row("TTFT, failed as infinite", r.at("adj").at("ttft_ns"), "infinite");
        text += row("E2E, failed as infinite", r.at("adj").at("e2e_ns"), "infinite");
    }
    return text;
}

std::string objectives_text(const Json& r) {
    if (r.at("slo").is_null()) return "";
    std::string text = fmt::format("SLO {}:", r.at("slo").at("name").get<std::string>());
    const std::pair<const char*, const char*> bounds[] = {
        {"TTFT", "ttft_ns"}, {"TPOT", "tpot_ns"}, {"ITL", "itl_ns"}, {"E2E", "e2e_ns"}};
    for (const auto& [word, key] : bounds) {
        if (!r.at("slo").at(key).is_null()) text += fmt::format(" {} {} ms", word, ms(r.at("slo").at(key)));
    }
    text += fmt::format(
        "\nattainment {} ({} to {}, Wilson 95 %), {} of {} requests; TPOT of one token passes\n"
        "goodput {} requests/s, {} tokens/s\n",
        number_text(r.at("attainment"), "{:.4f}"), number_text(r.at("attainment_low"), "{:.4f}"),
        number_text(r.at("attainment_high"), "{:.4f}"), r.at("good").get<uint64_t>(),
        r.at("judged").get<uint64_t>(), number_text(r.at("goodput_requests_per_second"), "{:.3f}"),
        number_text(r.at("goodput_tokens_per_second")));
    return text;
}

std::string smooth_text(const Json& s) {
    return fmt::format("smooth goodput {} tokens/s (V {:g} s, alpha {:g} tokens/s, f {}, from {}{})\n",
                       number_text(s.at("tokens_per_second")), s.at("seconds_per_token").get<double>(),
                       s.at("alpha_tokens_per_second").get<double>(), s.at("f").get<std::string>(),
                       s.at("origin") == "arrival" ? "arrival" : "first token",
                       s.at("floor_zero").get<bool>() ? ", floor 0" : "");
}

std::string targets_text(const Json& r) {
    std::string text;
    const Json& mlperf = r.at("mlperf");
    for (const auto& [name, stopping] : r.at("early_stopping").items()) {
        const double p = 100 * stopping.at("percentile").get<double>();
        text += fmt::format("{} p{:g}: {} ms", name, p, ms(mlperf.at(name + "_ns")));
        if (mlperf.contains(name + "_met"))
            text += mlperf.at(name + "_met").get<bool>() ? ", target met" : ", target not met";
        text += "; early stopping ";
        if (!stopping.at("valid").get<bool>()) {
            text += fmt::format("needs {} more queries", stopping.at("more_queries").get<uint64_t>());
        } else {
            text += "valid";
            if (!stopping.at("estimate_ns").is_null())
                text += fmt::format(", estimate {} ms", ms(stopping.at("estimate_ns")));
        }
        text += fmt::format(" at {} queries\n", stopping.at("queries").get<uint64_t>());
    }
    return text + (r.at("valid").get<bool>() ? "valid\n" : "not valid\n");
}

constexpr std::size_t kMostPoints = 1000;

// Shares of samples that are at most so long.
ChartSeries distribution(const std::string& label, std::vector<double> ms_samples) {
    ChartSeries series{label, {}, {}};
    std::sort(ms_samples.begin(), ms_samples.end());
    const std::size_t n = ms_samples.size(), step = n / kMostPoints + 1;
    double share = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (i % step != 0 && i + 1 != n) continue;
        series.line.push_back({ms_samples[i], share});
        share = static_cast<double>(i + 1) / static_cast<double>(n);
        series.line.push_back({ms_samples[i], share});
    }
    return series;
}

double ms_between(uint64_t begin_ns, uint64_t end_ns) {
    return end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) / 1e6 : 0;
}

}  // namespace

std::string scenario_text(const Json& r) {
    const auto text = [&](const char* key) { return r.at(key).get<std::string>(); };
    std::string out = fmt::format("{} on {} ({}), {} threads, {}\n", text("model"), text("backend"),
                                  text("isa"), r.at("threads").get<uint32_t>(), text("cpu"));
    out += fmt::format(
        "{}, {} tokens, {} sequences{}, seed {}\n", text("scenario"), text("lengths"),
        r.at("sequences").get<uint32_t>(),
        r.at("rate").is_null() ? "" : fmt::format(", {:g} requests/s", r.at("rate").get<double>()),
        r.at("seed").get<uint64_t>());
    out += fmt::format(
        "{} requests: {} completed, {} failed, {} cancelled in {:.2f} s; {} requests/s, {} "
        "tokens/s of output\n",
        r.at("requests").get<uint64_t>(), r.at("completed").get<uint64_t>(), r.at("failed").get<uint64_t>(),
        r.at("cancelled").get<uint64_t>(), r.at("seconds").get<double>(),
        number_text(r.at("requests_per_second"), "{:.3f}"), number_text(r.at("output_tokens_per_second")));
    if (!r.at("error").is_null()) out += fmt::format("the first failure: {}\n", text("error"));
    return out + times_text(r) + objectives_text(r) + smooth_text(r.at("smooth_goodput")) + targets_text(r);
}

std::string scenario_svg(const ScenarioRun& run, const std::string& title) {
    std::vector<double> ttft, gap;
    for (const RequestRecord& r : run.records) {
        if (r.end != RequestEnd::completed || r.token_ns.empty()) continue;
        ttft.push_back(ms_between(r.scheduled_ns, r.token_ns.front()));
        for (std::size_t j = 1; j < r.step_ns.size(); ++j)
            gap.push_back(ms_between(r.step_ns[j - 1], r.step_ns[j]));
    }
    ChartPanel first{
        "Time to the first token", "ms from the scheduled time", "share of requests", {}, {}, {}};
    ChartPanel gaps{"Step gap", "ms", "share of steps", {}, {}, {}};
    const auto bound = [](ChartPanel& panel, const char* name, uint64_t ns) {
        const double at = static_cast<double>(ns) / 1e6;
        if (ns != 0) panel.marks.push_back({at, fmt::format("{} bound {:g} ms", name, at)});
    };
    bound(first, "TTFT", run.slo.ttft_ns);
    bound(gaps, "TPOT", run.slo.tpot_ns);
    bound(gaps, "ITL", run.slo.itl_ns);
    first.series.push_back(distribution(fmt::format("{} requests", ttft.size()), ttft));
    gaps.series.push_back(distribution(fmt::format("{} steps", gap.size()), gap));
    return chart_svg(title, {first, gaps});
}

}  // namespace cli
