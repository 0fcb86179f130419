#!/usr/bin/env python3
"""The promises of loading: peak memory, and packed weights that are mapped, on the CPU backend."""
import json, os, statistics, subprocess, tempfile, time

from promise import MODELS, TAKT, Topic, model_path, run

MIB = 1 << 20
# With the template of SmolLM2 around it some 30 tokens more.
PROMPT = "Write one sentence about a blue boat, please."


def first_byte(path, *flags):
    """Seconds from the start of the process to the first byte of its answer."""
    begin = time.perf_counter()
    process = subprocess.Popen([TAKT, "run", "-m", path, "--backend", "cpu", "-p", PROMPT, "-n", "1", *flags],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    got = os.read(process.stdout.fileno(), 1)
    seconds = time.perf_counter() - begin
    process.stdout.read()
    if process.wait() != 0 or not got:
        raise subprocess.CalledProcessError(process.returncode, [TAKT, "run"])
    return seconds


def peak_memory(model):
    """Of a prefill of 512 and a decode of 8, which touch all scratch that they are given."""
    path = model_path(model)
    plan = json.loads(run(TAKT, "plan", "-m", path, "--backend", "cpu", "--ctx", "520", "--sequences", "1", "--json").stdout)
    process = subprocess.Popen([TAKT, "bench", "-m", path, "--backend", "cpu", "-p", "512", "-n", "8", "-r", "1", "--json"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise subprocess.CalledProcessError(status, [TAKT, "bench"])
    peak, size, pages = usage.ru_maxrss * 1024, os.path.getsize(path), plan["kv_bytes"]
    limit = 1.15 * size + 32 * MIB + pages
    return peak <= limit, f"{peak / MIB:.0f} MiB of {limit / MIB:.0f}; file {size / MIB:.0f}, pages {pages / MIB:.0f}"


def mapped(model):
    """Load with the packed weights kept, turn about with a load that packs; the answers agree."""
    path = model_path(model)
    with tempfile.TemporaryDirectory(prefix="takt-packed-", dir=path.parent) as folder:
        keep = ("--packed-cache", folder)
        ask = ("run", "-m", path, "--backend", "cpu", "-p", PROMPT, "-n", "8", "--json")
        answers = [json.loads(run(TAKT, *ask, *flags).stdout.splitlines()[-1])["ids"] for flags in ((), keep, keep)]
        packs, maps = [], []
        for _ in range(5):
            packs.append(first_byte(path))
            maps.append(first_byte(path, *keep))
    packed, mapped = statistics.median(packs), statistics.median(maps)
    same = answers[0] == answers[1] == answers[2]
    text = f"first token in {1e3 * mapped:.0f} ms, {1e3 * packed:.0f} packing" + ("" if same else "; other tokens!")
    return same and mapped <= packed, text


def main():
    topic = Topic("loading")
    for model in MODELS:
        topic.row(f"{model}, peak memory", "1.15 file+32 MiB+pages", lambda: peak_memory(model))
    for model in (MODELS[0], MODELS[3]):
        topic.row(f"{model}, packed weights mapped", "same tokens, no later", lambda: mapped(model))
    topic.finish()


if __name__ == "__main__":
    main()
