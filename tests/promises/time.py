#!/usr/bin/env python3
"""The promises of time: one definition of every number, causes that add up, counters that cost next to nothing, MLPerf's
LoadGen beside takt's own times, loads predicted before they come, and comparisons that can be believed.
"""
import functools, json, re, subprocess

from promise import MODELS, ROOT, NotHere, Topic, ctest, model_path, run, takt_json_lines
from time_bench import comparison_rows
from time_mlperf import loadgen_rows
from time_sizing import attainment_rows

SMOL = MODELS[0]
BENCH = ROOT / "build/release/bin/statistics_bench"
MOST_SHARE = 0.005  # of a decode step
# All that a step and an end record, with what they call; what lies in another of these counts twice.
RECORDERS = re.compile(r"takt::(GapKeeper|SloWatch)::\w+|takt::StepTrace::record\w*|takt::Worker::(record_\w+|publish_statistics|watch_promises)")
N_COUNTED = 24  # tokens


@functools.cache
def costs():
    run("cmake", "--build", ROOT / "build/release", "--target", "statistics_bench")
    return json.loads(run(BENCH, "1").stdout)


@functools.cache
def decode_step_ns():
    line = [l for l in takt_json_lines("bench", "-m", model_path(SMOL), "-p", "16", "-n", "64", "-r", "5", "--json")
            if l["test"] == "decode"][0]
    return 1e9 / line["median"]


def recording_time():
    cost, step_ns = costs(), decode_step_ns()
    each = cost["step_ns"] + cost["ended_ns_per_token"]
    return each <= MOST_SHARE * step_ns, f"{each / step_ns:.3%}: {cost['step_ns']:.0f} ns a step and {cost['ended_ns_per_token']:.1f} ns a token at its end, of {step_ns / 1e6:.2f} ms"


def recording_per_token():
    cost = costs()
    return cost["ended_ns_per_token"] <= 50, f"{cost['ended_ns_per_token']:.1f} ns; a histogram's record {cost['histogram_record_ns']:.1f} ns"


def instructions():
    """Of a decode of SmolLM2, counted by callgrind; it knows no AVX-512."""
    try:
        subprocess.run(["valgrind", "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise NotHere("valgrind is missing; apt-get install valgrind") from None
    out = ROOT / "build/release/callgrind.time"
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", ROOT / "build/release/bin/takt", "run", "-m", model_path(SMOL),
        "--raw", "-p", "Once", "-n", N_COUNTED, "--ignore-eos", "--isa", "avx2", "-t", "1", timeout=900)
    counts = re.findall(r"^\s*([\d,]+)\s+\([ \d.]+%\)\s+\S*?:(takt::\S+)\(", run("callgrind_annotate", "--threshold=100", "--inclusive=yes", out).stdout, re.M)
    counts = [(name, int(count.replace(",", ""))) for count, name in counts]
    steps = max((count for name, count in counts if name == "takt::Worker::step_requests"), default=0)
    recorded = sum(count for name, count in counts if RECORDERS.fullmatch(name))
    if recorded == 0 or steps == 0:
        return False, "callgrind found none of the functions; are there symbols?"
    return recorded <= MOST_SHARE * steps, f"{recorded / steps:.4%}: {recorded / N_COUNTED:.0f} of {steps / N_COUNTED:.0f} instructions a token"


def main():
    t = Topic("time")
    t.row("every entry of metric_vectors.json", "reproduced", lambda: ctest("vectors|metric_vectors"))
    t.row("2,000 mixed requests: phases are the whole time, causes the gaps", "to the nanosecond", lambda: ctest("two thousand mixed requests"))
    t.row("percentiles on four hostile distributions; eight merged", "1 %; the whole", lambda: ctest("hostile distributions|eight histograms"))
    t.row("recording beside a decode step of SmolLM2, by time", "<= 0.5 %", recording_time)
    t.row("recording beside a decode step of SmolLM2, by instructions", "<= 0.5 %", instructions)
    t.row("recording a token's times", "<= 50 ns", recording_per_token)
    t.row("a steady decode step allocates nothing, counters included", "nothing", lambda: ctest("steady decode step allocates|nor does a step with drafts"))
    loadgen_rows(t)
    attainment_rows(t)
    comparison_rows(t)
    t.finish()


if __name__ == "__main__":
    main()
