"""How far takt's logits are from the exact ones, beside the usual engine's distance (tests/data/golden/quality.md)."""
import functools, json

from promise import CACHE, DATA, MODELS, ROOT, TAKT, model_path, python_with, run


@functools.cache
def quality(model):
    out = run(python_with("numpy", "gguf"), ROOT / "tests/promises/logits_quality.py", model_path(model), DATA / "golden/quality.txt",
              "--takt", TAKT, "--cache", CACHE)
    return {row["chunk"]: row for row in map(json.loads, out.stdout.splitlines())}


@functools.cache
def quality_bar():
    bar = {}
    for line in (DATA / "golden/quality.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 15 and cells[0] in MODELS:
            bar.setdefault(cells[0], {})[cells[1].split(" (")[0]] = (float(cells[4]), float(cells[5]))
    return bar


def kl(model, chunk, name):
    mean, median = quality_bar()[model][name]
    row = quality(model)[chunk]
    text = f"mean {row['mean_kl']:.5f} (x{row['mean_kl'] / mean:.2f}), median {row['median_kl']:.5f} (x{row['median_kl'] / median:.2f}), top-1 {row['top1']:.2%}"
    return row["mean_kl"] <= 1.05 * mean and row["median_kl"] <= 1.05 * median, text
