#!/usr/bin/env python3
"""The promises of takt quantize: as near to its source as the usual engine's quantizers, type by type, in the same types for
each tensor, and files that foretell a text as well.
"""
import functools, json, pathlib, tempfile

from promise import MODELS, ROOT, TAKT, Topic, model_path, python_with, run, takt_json_lines

SMOL = MODELS[0]
PEER = ROOT / "tests/promises/quantize_peer.py"
TEXT = ROOT / "tests/data/golden/quality.txt"
MOST = 1.02  # of the usual engine's error, and of its file's perplexity
FILE_TYPES = {"q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q4_k_s": 14, "q4_k_m": 15, "q5_k_s": 16, "q5_k_m": 17, "q6_k": 18}


def peer(*arguments, **options):
    python = python_with("llama-cpp-python", "gguf", "numpy")
    return [json.loads(line) for line in run(python, PEER, *arguments, **options).stdout.splitlines() if line.startswith("{")]


@functools.cache
def folder():
    return tempfile.TemporaryDirectory(prefix="takt-quantize-")


@functools.cache
def float_model():
    """SmolLM2 dequantized: what both quantizers begin with."""
    path = pathlib.Path(folder().name) / "f16.gguf"
    run(TAKT, "quantize", model_path(SMOL), path, "f16", "--requantize")
    return path


@functools.cache
def pair(kind):
    """The same type by takt and by llama.cpp."""
    paths = [pathlib.Path(folder().name) / f"{who}-{kind}.gguf" for who in ("takt", "llama")]
    run(TAKT, "quantize", float_model(), paths[0], kind)
    peer("file", float_model(), paths[1], FILE_TYPES[kind])
    return paths


@functools.cache
def errors():
    return peer("rmse", TAKT, folder().name, model_path(SMOL), timeout=900)


def error_of(kind):
    lines = [line for line in errors() if line["type"] == kind]
    # Weights that came from this very type come back to the last bit: no ratio of two such errors means anything.
    worst = max((line for line in lines if line["ggml"] > 1e-4), key=lambda line: line["takt"] / line["ggml"])
    return worst["takt"] <= MOST * worst["ggml"], \
        f"{worst['takt'] / worst['ggml']:.3f} ({worst['takt']:.5f} and {worst['ggml']:.5f}, {worst['source']}), the worst of {len(lines)}"


def same_types():
    different = []
    for kind in FILE_TYPES:
        (line,) = peer("types", *pair(kind))
        different += [f"{kind}: {text}" for text in line["different"]]
    return not different, "; ".join(different[:3]) or f"{len(FILE_TYPES)} types, {line['tensors']} tensors each"


def perplexity_of(kind):
    own, theirs, exact = (takt_json_lines("perplexity", "-m", path, "-f", TEXT)[0]["perplexity"] for path in (*pair(kind), float_model()))
    return own <= MOST * theirs, f"{own:.3f}; llama.cpp's file {theirs:.3f}, its source {exact:.3f}"


def quantize_rows(topic):
    for kind in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"):
        topic.row(f"RMSE of {kind} against ggml's, gaussian, heavy-tailed and real weights", f"at most {MOST:.2f} times", functools.partial(error_of, kind))
    topic.row("each tensor of a quantized SmolLM2 in the type that llama.cpp gives it", "all", same_types)
    for kind in ("q4_k_m", "q4_0", "q5_k_m"):
        topic.row(f"perplexity of SmolLM2 in {kind} against llama.cpp's file", f"at most {MOST:.2f} times", functools.partial(perplexity_of, kind))


if __name__ == "__main__":
    own = Topic("models-quantize")
    quantize_rows(own)
    own.finish()
