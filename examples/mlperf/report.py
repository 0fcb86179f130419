"""The JSON object of a run: LoadGen's verdict, its medians and takt's, the delay between what they call the start.

LoadGen's TTFT begins when a query was due, takt's at the entry of takt_engine_submit. Between them lie, sample by sample,
LoadGen's own delay (its trace tells) and the adapter's way from issue_queries to takt. The medians of LoadGen's TTFT are
compared without both. TPOT is (last - first token) / (n - 1) on both sides. LoadGen measures by the system's clock, takt by
the monotonic one: a system's clock that is set meanwhile shows as a difference.
"""
import loadgen_logs
from loadgen_logs import percentile

CLOSE_NS, CLOSE_SHARE = 1_000_000, 0.03


def median(values):
    return percentile(list(values), 0.5)


def close(ours, theirs):
    return abs(ours - theirs) <= max(CLOSE_NS, CLOSE_SHARE * abs(ours))


def of(folder, issued):
    detail = loadgen_logs.read_detail(folder)
    good = [(sample, times) for sample, times in zip(issued, loadgen_logs.read_trace(folder), strict=True) if not sample.failure]
    failures = [sample.failure for sample in issued if sample.failure]
    tokens = [len(sample.tokens) for sample, _ in good]
    result = {
        "result": detail["result_validity"], "num_errors": detail["num_errors"], "samples": len(issued),
        "failed": len(failures), "failures": sorted(set(failures))[:5],
        "invalid_because": detail.get("result_invalid_reason", ""),
        "min_tokens": min(tokens, default=0), "max_tokens": max(tokens, default=0), "tokens": sum(tokens),
        "loadgen": loadgen_results(detail), "agrees": None}
    if good:
        result |= compared(good)
    return result


def loadgen_results(detail):
    """By the names of this report; None where the scenario has no such result (Offline reports no TTFT and no TPOT)."""
    keys = {"ttft_p50_ns": ["result_first_token_50.00_percentile_latency_ns"],
            "ttft_p99_ns": ["result_first_token_99.00_percentile_latency_ns"],
            "tpot_p50_ns": ["result_time_per_output_token_50.00_percentile_ns"],
            "tpot_p99_ns": ["result_time_per_output_token_99.00_percentile_ns"],
            "latency_p50_ns": ["result_50.00_percentile_latency_ns"],
            "latency_p90_ns": ["result_90.00_percentile_latency_ns"],
            "samples_per_second": ["result_samples_per_second", "result_completed_samples_per_sec"],
            "tokens_per_second": ["result_tokens_per_second", "result_completed_tokens_per_second", "result_token_throughput"]}
    return {name: next((detail[key] for key in choices if key in detail), None) for name, choices in keys.items()}


def compared(good):
    delays = [times.issued_ns + sample.adapter_ns for sample, times in good]
    loadgen_ttft = median(times.first_token_ns - delay for (_, times), delay in zip(good, delays))
    loadgen_tpot = median(times.tpot_ns(len(sample.tokens)) for sample, times in good)
    takt_ttft = median(sample.timing.ttft_ns for sample, _ in good)
    takt_tpot = median(sample.timing.tpot_n1_ns for sample, _ in good)
    return {
        "trace": {"ttft_p50_ns": median(times.first_token_ns for _, times in good), "tpot_p50_ns": int(loadgen_tpot)},
        "issue_delay_p50_ns": median(delays), "issue_delay_max_ns": max(delays),
        "ttft_p50_ns_without_delay": loadgen_ttft,
        "takt": {"ttft_p50_ns": takt_ttft, "tpot_p50_ns": int(takt_tpot)},
        "agrees": {"ttft": close(takt_ttft, loadgen_ttft), "tpot": close(takt_tpot, loadgen_tpot)}}
