#!/usr/bin/env python3
"""The promises of speed on a CPU: beside llama.cpp, OpenVINO GenAI and what this machine's memory and int8 units reach.

Two threads. A factor that is not reached still holds where takt reaches the stated share of the machine's own limit,
measured by `takt bench --roofline` right after the rivals' run.
"""
import functools, os, statistics, subprocess, sys, time

from divergence import kl
from promise import MODELS, PACKAGES, TAKT, NotHere, Topic, ctest, model_path, peers, python_with, takt_json_lines

SMOL, GEMMA, QWEN_SMALL, QWEN = MODELS
FACTORS = {SMOL: (7, 4), GEMMA: (3, 2), QWEN_SMALL: (4, 2), QWEN: (3, 1.7)}  # prefill 512, decode 64 after it
INT8_SHARE, READ_SHARE = 0.60, 0.85


def measured(model, *flags):
    """Rows of takt bench by test."""
    rows = takt_json_lines("bench", "-m", model_path(model), "-t", "2", "--json", *flags)
    return {row["test"]: row for row in rows}


bench = functools.cache(measured)


@functools.cache
def rooflines(model):
    """Three runs, each with its own limits: a machine that others use reads 40 GB/s now and 70 a minute later."""
    peers(model)  # the same run
    return [measured(model, "-p", "512", "-n", "64", "-r", "5", "--roofline") for _ in range(3)]


def engine(model, name, rival="llama.cpp"):
    row = next((r for r in peers(model, rival) if r["engine"] == name), None)
    if row is None:
        raise NotHere(f"{name} did not run")
    return row


def share_of(row):
    """Share of the row's limit, the least that holds, and the limit in words."""
    if row["test"] == "decode":
        return row["share_of_read"], READ_SHARE, f"of {row['read_bytes_per_second'] / 1e9:.1f} GB/s"
    limit = row["int8_operations_per_second"]
    if "vnni" not in row["isa"] or limit is None:
        limit = row["float_operations_per_second"]
    if limit is None:
        return None, INT8_SHARE, "of oneDNN, which this build lacks"
    return row["operations_per_token"] * row["median"] / limit, INT8_SHARE, f"of {limit / 1e9:.0f} GOP/s"


def share(model, test):
    """The middle one of the runs."""
    shares = [share_of(run[test]) for run in rooflines(model)]
    return sorted(shares, key=lambda s: s[0] or 0)[len(shares) // 2]


def beside(model, test):
    mine, other = engine(model, "takt"), engine(model, "llama.cpp")
    factor, wanted = other[f"takt_{test}_ratio"], FACTORS[model][test == "decode"]
    part, least, text = share(model, test)
    reached = factor >= wanted or (part is not None and part >= least)
    part = "unknown" if part is None else f"{part:.0%}"
    return reached, f"x{factor:.2f} ({mine[test]:.0f} and {other[test]:.0f} tokens/s); {part} {text}"


def beside_openvino(model, test):
    mine, other = engine(model, "takt", "openvino"), engine(model, "openvino", "openvino")
    factor = other[f"takt_{test}_ratio"]
    return factor >= 1, f"x{factor:.2f} ({mine[test]:.0f} and {other[test]:.0f} tokens/s)"


def limit_alone(model, test):
    part, least, text = share(model, test)
    if part is None:
        raise NotHere(text)
    return part >= least, f"{part:.0%} {text}"


def eight_rows():
    one = bench(QWEN, "-p", "64", "-n", "32", "-r", "3", "--roofline")["decode"]
    eight = bench(QWEN, "-p", "64", "-n", "32", "-b", "8", "-r", "3", "--roofline")["decode"]
    ratio = 8 * one["median"] / eight["median"]
    seconds = 8 / eight["median"]
    bound = max(8 * eight["bytes_per_token"] / eight["read_bytes_per_second"],
                8 * eight["operations_per_token"] / (eight["int8_operations_per_second"] or float("inf")))
    return ratio <= 1.6 or seconds <= 1.25 * bound, f"x{ratio:.2f} of one row, x{seconds / bound:.2f} of the bound"


@functools.cache
def depths():
    return tuple(bench(QWEN, "-p", "512", "-n", "64", "-r", "3", "-d", depth, "--roofline") for depth in ("0", "4096"))


def prefill_at_depth():
    ratio = depths()[1]["prefill"]["median"] / depths()[0]["prefill"]["median"]
    return ratio >= 0.5, f"{ratio:.0%}"


def attention_at_depth():
    near, far = (d["prefill"] for d in depths())
    seconds = 1 / far["median"] - 1 / near["median"]
    rate = (far["operations_per_token"] - near["operations_per_token"]) / seconds
    limit = far["float_operations_per_second"]
    if limit is None:
        raise NotHere("oneDNN is not in this build")
    return rate >= 0.6 * limit, f"{rate / limit:.0%} of {limit / 1e9:.0f} GFLOP/s"


def decode_at_depth():
    ratio = depths()[1]["decode"]["median"] / depths()[0]["decode"]["median"]
    return ratio >= 0.75, f"{ratio:.0%}"


PROMPT = "Tell me a short story about rivers."


def takt_first_token():
    begin = time.monotonic()
    process = subprocess.Popen([str(TAKT), "run", "-m", str(model_path(SMOL)), "--backend", "cpu", "-t", "2", "--raw", "-p", PROMPT, "-n", "4"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.read(1)
    seconds = time.monotonic() - begin
    process.stdout.read(); process.wait()
    return seconds


LLAMA_FIRST_TOKEN = """
import os, sys, time
null = os.open(os.devnull, os.O_WRONLY); out = os.dup(1); os.dup2(null, 1); os.dup2(null, 2)
import llama_cpp
begin = time.monotonic()
llama = llama_cpp.Llama(sys.argv[1], n_ctx=4096, n_threads=2, n_threads_batch=2, verbose=False)
next(llama(sys.argv[2], max_tokens=4, stream=True))
os.write(out, f"{time.monotonic() - begin}".encode())
"""


def first_token():
    python = python_with(*PACKAGES["llama.cpp"])
    mine, other = [], []
    for _ in range(6):
        mine.append(takt_first_token())
        out = subprocess.run([str(python), "-c", LLAMA_FIRST_TOKEN, str(model_path(SMOL)), PROMPT], capture_output=True, text=True)
        other.append(float(out.stdout))
    here, there = statistics.median(mine[1:]), statistics.median(other[1:])
    reads = rooflines(SMOL)[-1]["decode"]["read_bytes_per_second"]
    quick = here <= 0.150 or reads < 16e9
    return quick and here <= there / 2, f"{here * 1e3:.0f} ms; llama.cpp {there * 1e3:.0f} ms from its load; reads {reads / 1e9:.1f} GB/s"


def busy():
    flags = ("bench", "-m", model_path(SMOL), "-t", "2", "--json", "-p", "16", "-n", "128", "-r", "3")
    idle = takt_json_lines(*flags)[-1]["median"]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        loaded = takt_json_lines(*flags)[-1]["median"]
    finally:
        for other in others:
            other.kill(); other.wait()
    return loaded >= 0.4 * idle, f"{loaded / idle:.0%} ({loaded:.0f} of {idle:.0f} tokens/s)"


def main():
    t = Topic("speed")
    for model in MODELS:
        prefill, decode = FACTORS[model]
        t.row(f"prefill 512 beside llama.cpp, {model}", f">= {prefill} or 60 % int8", lambda: beside(model, "prefill"))
        t.row(f"decode 64 beside llama.cpp, {model}", f">= {decode} or 85 % read", lambda: beside(model, "decode"))
    for model in MODELS:
        for test in ("prefill", "decode"):
            t.row(f"{test} beside OpenVINO GenAI, {model}", ">= 1", lambda: beside_openvino(model, test))
    t.row("prefill of the 1.5B beside oneDNN's int8 rate", ">= 60 %", lambda: limit_alone(QWEN, "prefill"))
    t.row("decode of the 1.5B beside the read bandwidth", ">= 85 %", lambda: limit_alone(QWEN, "decode"))
    t.row("a step of 8 rows of the 1.5B", "<= 1.6 or 1.25 bound", eight_rows)
    t.row("prefill of the 1.5B at depth 4096", ">= 50 % of depth 0", prefill_at_depth)
    t.row("attention added at depth 4096, beside oneDNN's float rate", ">= 60 %", attention_at_depth)
    t.row("decode of the 1.5B at depth 4096", ">= 75 % of depth 0", decode_at_depth)
    t.row("start of takt run to its first token, SmolLM2", "<= 150 ms, half llama's", first_token)
    t.row("decode with every core busy elsewhere", ">= 40 % of idle", busy)
    t.row("every ISA level gives the golden tokens and scalar's bits", "all", lambda: ctest("^(cpu|golden|kernels):"))
    for model in MODELS:
        t.row(f"KL in chunks of 512, {model}", "<= 1.05 x default", lambda: kl(model, 512, "default"))
        t.row(f"KL in chunks of 1, {model}", "<= 1.05 x ubatch 1", lambda: kl(model, 1, "ubatch 1"))
    t.finish()


if __name__ == "__main__":
    main()
