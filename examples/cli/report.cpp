// The names of the JSON keys are a promise: add, never change.
#include "report.h"

#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace cli {
namespace {

Json or_null(uint64_t ns) {
    return ns == TAKT_UNDEFINED_NS ? Json(nullptr) : Json(ns);
}
Json or_null(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json distribution_json(const takt_distribution& d) {
    return {
        {"p50", or_null(d.p50)}, {"p95", or_null(d.p95)}, {"p99", or_null(d.p99)}, {"max", or_null(d.max)}};
}

std::string milliseconds(double ns) {
    return std::isfinite(ns) ? fmt::format("{:.2f} ms", ns / 1e6) : std::string("undefined");
}
std::string milliseconds(uint64_t ns) {
    return ns == TAKT_UNDEFINED_NS ? std::string("undefined") : milliseconds(static_cast<double>(ns));
}
std::string rate(double per_second) {
    return std::isfinite(per_second) ? fmt::format(" ({:.1f} tokens/s)", per_second) : std::string();
}

}  // namespace

std::string json_line(const Json& object) {
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json gap_json(const takt_gap& gap) {
    Json json;
    json["total_ns"] = gap.total_ns;
    json["own_compute_ns"] = gap.own_compute_ns;
    json["other_prefill_ns"] = gap.other_prefill_ns;
    json["other_decode_ns"] = gap.other_decode_ns;
    json["page_wait_ns"] = gap.page_wait_ns;
    json["callback_ns"] = gap.callback_ns;
    json["other_engines_ns"] = gap.other_engines_ns;
    json["scheduler_ns"] = gap.scheduler_ns;
    json["stalled_by_id"] = gap.stalled_by_id == 0 ? Json(nullptr) : Json(gap.stalled_by_id);
    json["stalled_by_ns"] = gap.stalled_by_ns;
    return json;
}

Json timing_json(const takt_timing& t) {
    Json json;
    json["queue_ns"] = t.queue_ns;
    json["prefill_ns"] = t.prefill_ns;
    json["preempted_ns"] = t.preempted_ns;
    json["decode_ns"] = t.decode_ns;
    json["finish_ns"] = t.finish_ns;
    json["e2e_ns"] = t.e2e_ns;
    json["ttft_ns"] = or_null(t.ttft_ns);
    json["tpot_ns"] = or_null(t.tpot_ns);
    json["tpot_n1_ns"] = or_null(t.tpot_n1_ns);
    json["step_gap_ns"] = distribution_json(t.step_gap_ns);
    json["itl_ns"] = distribution_json(t.itl_ns);
    json["prompt_tokens"] = t.prompt_tokens;
    json["cached_tokens"] = t.cached_tokens;
    json["generated_tokens"] = t.generated_tokens;
    json["prefill_tokens_per_second"] = or_null(t.prefill_tokens_per_second);
    json["decode_tokens_per_second"] = or_null(t.decode_tokens_per_second);
    json["draft_ns"] = t.draft_ns;
    json["drafted"] = t.drafted;
    json["accepted"] = t.accepted;
    json["backend"] = t.backend;
    json["threads"] = t.n_threads;
    json["n_preemptions"] = t.n_preemptions;
    json["n_slides"] = t.n_slides;
    json["dropped_tokens"] = t.dropped_tokens;
    json["request_id"] = t.request_id;
    json["handover_ns"] = t.handover_ns;
    json["gaps"] = gap_json(t.gaps);
    json["longest_gap"] = gap_json(t.longest_gap);
    json["stalled_by"] = Json::array();
    for (const takt_stall& stall : t.stalled_by) {
        if (stall.request_id != 0)
            json["stalled_by"].push_back({{"request_id", stall.request_id}, {"ns", stall.ns}});
    }
    json["stalled_others_ns"] = t.stalled_others_ns;
    json["slo"] = t.slo_verdict == TAKT_SLO_NOT_JUDGED
                      ? Json(nullptr)
                      : Json(t.slo_verdict == TAKT_SLO_GOOD ? "good" : "missed");
    return json;
}

std::string timing_text(const takt_timing& t) {
    std::string text =
        fmt::format("prompt {} tokens, generated {} ({}); backend {}, {} threads\n", t.prompt_tokens,
                    t.generated_tokens, takt_finish_reason_name(t.finish_reason), t.backend, t.n_threads);
    text += fmt::format("queue {}, prefill {}{}, decode {}, finish {}, in all {}\n", milliseconds(t.queue_ns),
                        milliseconds(t.prefill_ns), rate(t.prefill_tokens_per_second),
                        milliseconds(t.decode_ns), milliseconds(t.finish_ns), milliseconds(t.e2e_ns));
    text += fmt::format("TTFT {}, TPOT {}{}\n", milliseconds(t.ttft_ns), milliseconds(t.tpot_ns),
                        rate(t.decode_tokens_per_second));
    if (t.step_gap_ns.count > 0) {
        text += fmt::format("step gap p50 {}, p95 {}, p99 {}, max {}\n", milliseconds(t.step_gap_ns.p50),
                            milliseconds(t.step_gap_ns.p95), milliseconds(t.step_gap_ns.p99),
                            milliseconds(t.step_gap_ns.max));
    }
    if (t.drafted[0] > 0) {
        const auto drafted = std::accumulate(std::begin(t.drafted), std::end(t.drafted), 0u),
                   accepted = std::accumulate(std::begin(t.accepted), std::end(t.accepted), 0u);
        text += fmt::format("drafts {} of {} accepted, {} for drafting\n", accepted, drafted,
                            milliseconds(t.draft_ns));
    }
    if (t.n_slides > 0)
        text +=
            fmt::format("the context was full {} times, {} tokens slid out\n", t.n_slides, t.dropped_tokens);
    return text;
}

takt_backend_info backend_in_use(const takt::Runtime& runtime, const std::string& name) {
    for (const takt_backend_info& info : runtime.backends()) {
        if (info.available != 0 && (name.empty() || name == info.name)) return info;
    }
    takt_backend_info none{};
    none.name = none.device = none.isa = none.isa_levels = none.why_not = "";
    return none;
}

Json conditions_json(const takt::Runtime& runtime, const takt::Model& model, const CommonOptions& options,
                     const std::string& backend) {
    const takt_backend_info device = backend_in_use(runtime, backend);
    const takt_model_info info = model.info();
    Json json;
    json["backend"] = device.name;
    json["isa"] = device.isa;
    json["cpu"] = device.device;
    json["threads"] = runtime.thread_count();
    const char* usual = json["backend"] == "reference" ? "f32" : "f16";
    json["kv"] = options.kv.empty() ? usual : options.kv;
    json["deterministic"] = options.deterministic;
    json["model"] = options.model;
    json["model_name"] = info.name;
    json["family"] = info.family;
    json["fingerprint"] = fmt::format("{:016x}", info.fingerprint);
    json["parameters"] = info.parameter_count;
    json["weight_bytes"] = info.weight_bytes;
    json["packed_bytes"] = info.packed_bytes;
    json["takt"] = takt_version();
    return json;
}

}  // namespace cli
