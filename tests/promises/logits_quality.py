#!/usr/bin/env python3
"""Compares takt's logits with the float32 oracle on a text, teacher forced; prints one JSON object a chunk size.

  logits_quality.py MODEL.gguf TEXT --takt takt --cache FOLDER [--chunk 512 --chunk 1] [--kv f16]

KL(oracle || takt) in nats over the whole vocabulary. The oracle's logits are kept in the cache folder.
Needs numpy and gguf.
"""
import argparse, hashlib, json, os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "data/golden"))
import numpy as np
import oracle


def oracle_logits(model, ids, cache):
    key = hashlib.sha256(f"{model}{os.path.getsize(model)}{ids}".encode()).hexdigest()[:16]
    path = pathlib.Path(cache) / f"oracle-{key}.npy"
    if not path.exists():
        o = oracle.Oracle(model)
        hidden = o.hidden([ids])[0]
        head = o.head()
        rows = np.concatenate([o.logits(hidden[i:i + 128], head) for i in range(0, len(hidden), 128)])
        with open(path.with_suffix(".tmp"), "wb") as file:
            np.save(file, rows)
        os.replace(path.with_suffix(".tmp"), path)
    return np.load(path, mmap_mode="r")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model"); p.add_argument("text"); p.add_argument("--takt", required=True)
    p.add_argument("--cache", required=True); p.add_argument("--chunk", type=int, action="append")
    p.add_argument("--kv", default="f16")
    a = p.parse_args()
    ids = json.loads(subprocess.run([a.takt, "tokenize", "-m", a.model, "--add-special"], stdin=open(a.text, "rb"),
                                    check=True, capture_output=True).stdout)["ids"]
    want = oracle_logits(a.model, ids, a.cache)
    for chunk in a.chunk or [512, 1]:
        with tempfile.NamedTemporaryFile(suffix=".npy", dir=a.cache) as out:
            subprocess.run([a.takt, "logits", "-m", a.model, "--ids", ",".join(map(str, ids)), "--all", "--chunk", str(chunk),
                            "--kv", a.kv, "-o", out.name], check=True, stdout=subprocess.DEVNULL)
            have = np.load(out.name)
        if have.shape != (len(ids), want.shape[1]) and have.shape[1] > want.shape[1]:
            sys.exit(f"takt gave {have.shape}, the oracle {want.shape}")
        kl, equal = [], 0
        for x, y in zip(want, have):
            p_log = oracle.log_softmax(np.asarray(x)[:len(y)])
            kl.append(float((np.exp(p_log) * (p_log - oracle.log_softmax(y))).sum()))
            equal += int(np.argmax(x) == np.argmax(y))
        kl = np.array(kl)
        print(json.dumps({"chunk": chunk, "kv": a.kv, "tokens": len(ids), "mean_kl": float(kl[1:].mean()), "median_kl": float(np.median(kl[1:])),
                          "max_kl": float(kl[1:].max()), "kl_at_0": float(kl[0]), "top1": equal / len(ids),
                          "top1_at_0": bool(np.argmax(want[0]) == np.argmax(have[0]))}), flush=True)


if __name__ == "__main__":
    main()
