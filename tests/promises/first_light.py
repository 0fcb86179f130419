#!/usr/bin/env python3
"""The promises of first light: an answer in one command, golden truth, exact times, exact batches, speed beside llama.cpp."""
import json, re, subprocess, time

from divergence import kl, quality
from promise import DATA, MODELS, ROOT, TAKT, Topic, ctest, model_path, peers, python_with, run, takt_json_lines

SMOL = MODELS[0]


def answers():
    out = run(ROOT / "dev", "run", "Name three rivers.")
    words = out.stdout.split()
    known = re.findall(r"Nile|Amazon|Mississippi|Danube|Rhine|Yangtze|Ganges|Thames|Volga|Congo|Mekong|Colorado", out.stdout)
    return len(words) > 3 and len(set(known)) >= 2, " ".join(words)[:90]


def second_start():
    begin = time.monotonic()
    process = subprocess.Popen([str(ROOT / "dev"), "run", "Name three rivers."], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.read(1)
    seconds = time.monotonic() - begin
    process.stdout.read(); process.wait()
    return seconds < 3 and process.returncode == 0, f"{seconds:.2f} s to the first word"


def greedy(model, backend, gap):
    """Teacher forced along the golden tokens: the best token is the oracle's wherever its lead is at least `gap`."""
    import_numpy = python_with("numpy", "gguf")
    program = """
import json, subprocess, sys, tempfile
import numpy as np
takt, path, golden, backend, gap = sys.argv[1:6]
steps = wrong = 0
for case in json.load(open(golden))["cases"]:
    ids = case["prompt_ids"] + case["ids"]
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        subprocess.run([takt, "logits", "-m", path, "--backend", backend, "--all", "--ids", ",".join(map(str, ids[:-1])), "-o", out.name],
                       check=True, stdout=subprocess.DEVNULL)
        best = np.load(out.name)[len(case["prompt_ids"]) - 1:].argmax(-1)
    for have, want, lead in zip(best, case["oracle_top1"], case["oracle_gap"], strict=True):
        if lead >= float(gap):
            steps += 1
            wrong += int(have != want)
print(json.dumps([steps, wrong]))
"""
    steps, wrong = json.loads(run(import_numpy, "-c", program, TAKT, model_path(model), DATA / f"golden/greedy_{model}.json",
                                  backend, gap).stdout)
    return wrong == 0 and steps > 0, f"{wrong} of {steps} steps differ"


def top1_at_0():
    rows = quality(MODELS[3])
    return all(r["top1_at_0"] for r in rows.values()), f"KL there {rows[512]['kl_at_0']:.4f}"


def times_add_up():
    lines = takt_json_lines("run", "-m", model_path(SMOL), "-p", "Count to ten.", "-n", "32", "--json")
    t = lines[-1]["timing"]
    total = t["queue_ns"] + t["prefill_ns"] + t["decode_ns"] + t["finish_ns"]
    return total == t["e2e_ns"] and t["e2e_ns"] > 0, f"{total} ns and {t['e2e_ns']} ns"


def beside_llama_cpp(test):
    rows = peers(SMOL)
    row = next(r for r in rows if r["engine"] == "llama.cpp")
    mine = next(r for r in rows if r["engine"] == "takt")
    return row[f"takt_{test}_ratio"] >= 1, f"x{row[f'takt_{test}_ratio']:.2f} ({mine[test]:.0f} and {row[test]:.0f} tokens/s)"


def main():
    t = Topic("first-light")
    t.row("./dev run answers in one command", "two rivers named", answers)
    t.row("a second ./dev run starts quickly", "< 3 s", second_start)
    t.row("tokenization equals the models' own on every golden case", "all", lambda: ctest("^tokenizer:"))
    t.row("templates equal Jinja2's on every golden case", "all", lambda: ctest("[Tt]emplate|[Jj]inja"))
    t.row("dequantization equals the format's reference bit for bit", "all", lambda: ctest("^tensor:"))
    t.row("tiny models' logits (reference 1e-4, cpu as stated)", "all", lambda: ctest("^(backends|golden):"))
    for model in MODELS:
        t.row(f"cpu: the oracle's best token, {model}", "gap >= 0.5", lambda: greedy(model, "cpu", 0.5))
    for model in MODELS:
        t.row(f"reference: the oracle's best token, {model}", "gap >= 0.01", lambda: greedy(model, "reference", 0.01))
    for model in MODELS:
        t.row(f"KL in chunks of 512, {model}", "<= 1.05 x default", lambda: kl(model, 512, "default"))
        t.row(f"KL in chunks of 1, {model}", "<= 1.05 x ubatch 1", lambda: kl(model, 1, "ubatch 1"))
    t.row("the 1.5B model's best token at position 0", "the oracle's", top1_at_0)
    t.row("queue + prefill + decode + finish = E2E", "to the nanosecond", times_add_up)
    t.row("ten requests at once: tokens and logits as each alone", "same bits", lambda: ctest("[Tt]en requests"))
    t.row("every hostile file: its expected end, no signal", "all", lambda: ctest("hostile|bad_gguf|shrinks"))
    t.row("prefill of SmolLM2 on two threads beside llama.cpp", ">= 1", lambda: beside_llama_cpp("prefill"))
    t.row("decode of SmolLM2 on two threads beside llama.cpp", ">= 1", lambda: beside_llama_cpp("decode"))
    t.row("a C program under 40 lines against the installed library", "prints tokens and gaps", lambda: ctest("hello"))
    t.finish()


if __name__ == "__main__":
    main()
