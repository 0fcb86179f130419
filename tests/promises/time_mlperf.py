"""Rows on MLPerf's scenarios: SmolLM2 under the real LoadGen by examples/mlperf, validity, and both sides' medians.

A topic adds them with loadgen_rows(t). Prompts of 32 random tokens, outputs of 16; the bounds are llama3.1-8b's.
"""
import functools, json, subprocess, tempfile

from promise import MODELS, ROOT, TAKT, model_path, python_with

LOADGEN = "mlcommons-loadgen==6.0.17"
LIMIT_SECONDS = 240  # of a scenario; on two quiet cores each takes 10 to 25 s
# The server scenarios need 459 samples where none is late, 662 where one is. A machine of two cores answers at least twice
# as many a second together as one after another, so at this part of the latter no queue should grow.
SERVER_PART, SERVER_COUNT = 0.8, 459
SINGLE_STREAM_MS, OFFLINE_MS = 10_000, 10_000
OFFLINE_PART = 6.0  # expected over the rate one after another: it must exceed the real rate


@functools.cache
def scenario(name):
    """What examples/mlperf/run.py says of it, whatever its exit status."""
    arguments = {"single-stream": lambda: ["--duration-ms", SINGLE_STREAM_MS],
                 "offline": lambda: ["--duration-ms", OFFLINE_MS, "--qps", OFFLINE_PART * rate()],
                 "server": lambda: ["--qps", SERVER_PART * rate(), "--count", SERVER_COUNT],
                 "interactive": lambda: ["--qps", SERVER_PART * rate(), "--count", SERVER_COUNT]}[name]()
    return run(name, *arguments)


def run(name, *arguments):
    python, model = python_with(LOADGEN), model_path(MODELS[0])
    with tempfile.TemporaryDirectory() as folder:
        command = [python, ROOT / "examples/mlperf/run.py", "--library", TAKT.parents[1] / "lib/libtakt.so", "--model", model,
                   "--output", folder, "--ignore-eos", "--scenario", name, *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    if not done.stdout.startswith("{"):
        raise subprocess.CalledProcessError(done.returncode, ["run.py"], stderr=done.stderr)
    return json.loads(done.stdout)


def rate():
    """Samples a second one after another, of a short run; measured before each scenario, as a busy machine changes."""
    return 1e9 / run("single-stream")["loadgen"]["latency_p50_ns"]


def valid(name):
    result = scenario(name)
    holds = (result["result"], result["num_errors"], result["failed"]) == ("VALID", 0, 0)
    text = f"{result['result']}, {result['num_errors']} errors, {result['failed']} failed of {result['samples']} samples"
    why = f"; {result['invalid_because'].strip()}" if result["invalid_because"] else ""
    return holds, f"{text}, {result['loadgen']['tokens_per_second']:.0f} tokens/s{why}"


def medians(name):
    result = scenario(name)
    if result["agrees"] is None:
        return False, "no sample was well"
    ttft, tpot = result["ttft_p50_ns_without_delay"], result["trace"]["tpot_p50_ns"]
    takt, delay = result["takt"], result["issue_delay_p50_ns"]
    text = (f"TTFT {ttft / 1e6:.2f} and takt's {takt['ttft_p50_ns'] / 1e6:.2f} ms (delay {delay / 1e6:.2f} ms); "
            f"TPOT {tpot / 1e6:.3f} and {takt['tpot_p50_ns'] / 1e6:.3f} ms")
    return all(result["agrees"].values()), text


def loadgen_rows(t):
    for name in ("single-stream", "offline", "server", "interactive"):
        t.row(f"LoadGen, {name}", "VALID, no errors", lambda: valid(name))
        t.row(f"LoadGen, {name}: its median TTFT and TPOT beside takt's", "<= 3 % or 1 ms", lambda: medians(name))
