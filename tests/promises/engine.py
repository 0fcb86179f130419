#!/usr/bin/env python3
"""The promises of the engine: many requests at once, prompts that join, what isn't computed twice, drafts, hand-over.

Ratios come from tests/bench/engine_bench.cpp, which measures the two sides of each turn about in one run.
"""
import functools, json, os, re, subprocess

from promise import MODELS, ROOT, TAKT, NotHere, Topic, ctest, model_path, run, takt_json_lines

SMOL, GEMMA, QWEN_SMALL, QWEN = MODELS
BENCH = ROOT / "build/release/bin/engine_bench"
LIMIT_SECONDS = 900  # of a scenario; the longest takes two or three minutes on two quiet cores
PROMPT = "".join(f"Line {i * 37} of the book says nothing new. " for i in range(40)) + "The next line says"


@functools.cache
def build_bench():
    run("cmake", "--build", ROOT / "build/release", "--target", "engine_bench")


@functools.cache
def scenario(name, *models):
    """The rows of a scenario by name."""
    paths = [model_path(model) for model in models]
    build_bench()
    rows = map(json.loads, run(BENCH, name, *paths, timeout=LIMIT_SECONDS).stdout.splitlines())
    return {row["scenario"]: row for row in rows}


def mixed_load():
    return scenario("mixed_load", SMOL)["mixed_load"]


def beside_alone():
    row = mixed_load()
    return row["beside_alone"] >= 2.5, f"x{row['beside_alone']:.2f} ({row['together_per_second']:.0f} and {row['alone_per_second']:.0f} tokens/s)"


def beside_static():
    row = mixed_load()
    return row["beside_static"] >= 1.5, f"x{row['beside_static']:.2f} ({row['together_per_second']:.0f} and {row['static_per_second']:.0f} tokens/s)"


def page_waste():
    row = mixed_load()
    return row["page_waste"] <= 0.04, f"{row['page_waste']:.2%}; {row['preemptions']} preemptions"


def joining():
    return scenario("joining_prompt", QWEN_SMALL)["joining_prompt"]


def joining_gap():
    row = joining()
    return row["p99_factor"] <= 2, f"x{row['p99_factor']:.2f} of {row['median_before_ms']:.1f} ms; longest x{row['max_factor']:.2f}"


def joining_budget():
    row = joining()
    return row["steps"] > 0 and row["steps_over_budget"] == 0, f"{row['steps_over_budget']} of {row['steps']} over it; {row['most_prompt_rows']} rows at most"


def freeze():
    row = joining()
    return row["freeze_factor"] > 5, f"x{row['freeze_factor']:.0f}"


def second_turn():
    row = scenario("second_turn", QWEN_SMALL)["second_turn"]
    text = f"{row['falls_by']:.1%}: {row['reused_ttft_ms']:.0f} and {row['computed_ttft_ms']:.0f} ms, {row['cached_tokens']} of {row['prompt_tokens']} tokens reused"
    return row["falls_by"] >= 0.9 and row["prompt_tokens"] >= 1500, text


def shared_prompt():
    row = scenario("shared_prompt", QWEN_SMALL)["shared_prompt"]
    return row["saved_in_turn"] >= 0.9, f"{row['saved_in_turn']:.1%}; {row['saved_at_once']:.1%} where all come at once"


def draft_model():
    return scenario("draft_model", QWEN, QWEN_SMALL)["draft_model"]


def draft_tokens():
    row = draft_model()
    return row["same_tokens"], f"{'the same' if row['same_tokens'] else 'others'}; {row['accepted'] or 0:.0%} of the drafts accepted"


def draft_speed():
    row = draft_model()
    share = row["faster"] / row["predicted"]
    c = "unknown" if row["c"] is None else f"{row['c']:.2f}"
    return share >= 0.85, f"{share:.0%}: x{row['faster']:.2f}, predicted x{row['predicted']:.2f} ({row['tokens_per_step']:.2f} tokens a step, g {row['g']:.2f}, c {c}, v {row['v']:.2f})"


def other_tokens(row):
    return "" if row["same_tokens"] else "; other tokens!"


def ngram_rewrite():
    row = scenario("ngram_rewrite", QWEN)["ngram_rewrite"]
    return row["same_tokens"] and row["faster"] >= 1.8, f"x{row['faster']:.2f}, {row['tokens']} tokens, {row['accepted']} of {row['drafted']} drafts accepted{other_tokens(row)}"


def useless(name):
    row = scenario("useless_drafts", QWEN, QWEN_SMALL)[name]
    # Where much is accepted it is another promise that was measured.
    near_none = row["accepted"] <= 0.1 * row["drafted"]
    text = f"{row['slower'] - 1:+.1%} ({row['slower_with_prefill'] - 1:+.1%} with its prompt), {row['accepted']} of {row['drafted']} drafts accepted{other_tokens(row)}"
    return row["same_tokens"] and near_none and row["slower"] <= 1.05, text


def handover(model):
    """Two processes and a socket between them; the answer of one alone is as long."""
    path = model_path(model)
    moved = run(ROOT / "build/release/bin/handover", path, PROMPT)
    alone = takt_json_lines("run", "-m", path, "--raw", "-p", PROMPT, "-n", "32", "--json")[-1]["text"]
    sides = re.findall(r"(sent|received): (\d+) bytes in ([\d.]+) s, (\d+) tokens, (\d+) bytes and ([\d.]+) us per token", moved.stderr)
    if [side[0] for side in sorted(sides)] != ["received", "sent"]:
        return False, f"no numbers: {moved.stderr[-200:]}"
    received, sent = sorted(sides)
    same = moved.stdout == alone + "\n" and alone != ""
    text = f"{int(sent[1]) / 1e6:.1f} MB in {1e3 * float(sent[2]):.1f} ms ({1e3 * float(received[2]):.1f} to have it), {sent[3]} tokens, {sent[4]} bytes and {sent[5]} us each"
    return same, text + ("" if same else "; other text!")


def corruptions(preset):
    program, name = ROOT / f"build/{preset}/bin/engine_tests", "damaged states are refused by the engine and leave no page behind"
    if not program.is_file():
        raise NotHere(f"there is no build/{preset}; ./dev build {preset}")
    if name not in subprocess.run([str(program), "--list-test-names-only", name], capture_output=True, text=True).stdout:
        raise NotHere(f"build/{preset} is older than this test")
    out = subprocess.run([str(program), name], capture_output=True, text=True, timeout=LIMIT_SECONDS,
                         env={**os.environ, "TAKT_CORRUPTIONS": "10000"})
    return out.returncode == 0, (out.stdout.strip().splitlines() or [out.stderr[-100:]])[-1]


def main():
    t = Topic("engine")
    t.row("64 mixed requests at once beside one after another (8 a round)", ">= 2.5", beside_alone)
    t.row("64 mixed requests at once beside static batches of 8", ">= 1.5", beside_static)
    t.row("part of pages of 16 that holds nothing, on that load", "<= 4 %", page_waste)
    t.row("four decodes while 2,000 tokens join: p99 of their step gap", "<= 2 x median before", joining_gap)
    t.row("prompt rows of those steps", "within the budget", joining_budget)
    t.row("the same with the prompt in one step: longest gap", "> 5 x median before", freeze)
    t.row("second turn of a chat of 1,500 tokens: TTFT falls by", ">= 90 %", second_turn)
    t.row("20 requests behind the same 1,000 tokens: prefill of these saved", ">= 90 %", shared_prompt)
    t.row("code by the 1.5B drafted by the 0.5B: its greedy tokens", "the same", draft_tokens)
    t.row("its speed-up beside tokens a step / (g c + v)", ">= 85 %", draft_speed)
    t.row("a class repeated with one change, n-gram drafts, beside plain", ">= 1.8", ngram_rewrite)
    t.row("text that nobody guesses, n-gram drafts: slower by", "<= 5 %", lambda: useless("useless_ngrams"))
    t.row("text that nobody guesses, a draft model: slower by", "<= 5 %", lambda: useless("useless_draft_model"))
    for model in MODELS:
        t.row(f"prefill here, decode there, {model}", "the text of one process", lambda: handover(model))
    t.row("10,000 damaged states", "refused, no page left", lambda: corruptions("release"))
    t.row("10,000 damaged states under ASan and UBSan", "refused, no page left", lambda: corruptions("asan"))
    t.row("ten thousand requests of every kind", "no fault", lambda: ctest("ten thousand requests"))
    t.row("a steady decode step allocates nothing", "nothing", lambda: ctest("steady decode step allocates|nor does a step with drafts"))
    t.finish()


if __name__ == "__main__":
    main()
