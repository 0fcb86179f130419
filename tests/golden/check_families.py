# Runs tiny models in llama.cpp (llama_cpp_python) and records in NAME.json how far its output is.
import ctypes
import json
import os
import sys

import llama_cpp as lc
import numpy as np


@lc.llama_log_callback
def quiet(level, text, user_data):
    if level >= 4 or os.environ.get("VERBOSE"):
        sys.stderr.write(text.decode("utf-8", "replace"))


def vector(pointer, n):
    return np.ctypeslib.as_array(pointer, (n,)).copy()


def decode(model, ids, n_ctx, embedding, overrides):
    """All rows of one sequence in one batch: logits, or (hidden rows, pooled)."""
    params = lc.llama_context_default_params()
    params.n_ctx = max(n_ctx, len(ids))
    params.n_batch = params.n_ubatch = 512
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = 0  # f32
    params.flash_attn_type = 0
    params.swa_full = True
    for key, value in overrides.items():
        setattr(params, key, value)
    results = []
    for pooling in ((0, -1) if embedding else (-1,)):
        params.embeddings = embedding
        params.pooling_type = pooling
        ctx = lc.llama_init_from_model(model, params)
        if not ctx:
            raise RuntimeError("no context")
        batch = lc.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
            batch.seq_id[i][0] = 0
        code = lc.llama_decode(ctx, batch)
        if code:
            raise RuntimeError("llama_decode gives %d" % code)
        if not embedding:
            n = lc.llama_vocab_n_tokens(lc.llama_model_get_vocab(model))
            get = lambda i: lc.llama_get_logits_ith(ctx, i)
            results.append(np.stack([vector(get(i), n) for i in range(len(ids))]))
        else:
            n = lc.llama_model_n_embd(model)
            if pooling == 0:
                get = lambda i: lc.llama_get_embeddings_ith(ctx, i)
                results.append(np.stack([vector(get(i), n) for i in range(len(ids))]))
            else:
                results.append(vector(lc.llama_get_embeddings_seq(ctx, 0), n))
        lc.llama_batch_free(batch)
        lc.llama_free(ctx)
    return results if embedding else results[0]


def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def compare_logits(model, path, data):
    want = np.fromfile(path + ".logits.f32", "<f4").reshape(data["logits_rows"], data["vocab_size"])
    got = []
    for seq in data["sequences"]:
        rows = decode(model, seq["ids"], seq.get("context_tokens", 512), False,
                      data.get("llama_cpp_context", {}))
        got.append(rows[seq["logit_positions"]])
    per = [float(np.abs(g - w).max()) for g, w in
           zip(got, np.split(want, np.cumsum([len(g) for g in got])[:-1]))]
    got = np.concatenate(got)
    p, q = log_softmax(want), log_softmax(got)
    kl = (np.exp(p) * (p - q)).sum(-1)
    others = {}
    for label in data.get("other_logits", {}):
        other = np.fromfile("%s.%s.logits.f32" % (path, label), "<f4").reshape(want.shape)
        others["llama_cpp_max_abs_diff_" + label] = float(np.abs(got - other).max())
    return {**others, "llama_cpp_max_abs_diff": float(np.abs(got - want).max()),
            "llama_cpp_max_abs_diff_per_sequence": per,
            "llama_cpp_mean_kl": float(kl.mean()), "llama_cpp_max_kl": float(kl.max()),
            "llama_cpp_top1": float((got.argmax(-1) == want.argmax(-1)).mean())}


def compare_embeddings(model, path, data):
    want, at, worst, pooled_worst = np.fromfile(path + ".embeddings.f32", "<f4"), 0, 0.0, 0.0
    n = data["embedding_length"]
    for seq in data["sequences"]:
        hidden, pooled = decode(model, seq["ids"], 512, True, {})
        rows = want[at:at + n * (2 + len(seq["ids"]))].reshape(-1, n)
        at += rows.size
        worst = max(worst, float(np.abs(hidden - rows[2:]).max()))
        pooled_worst = max(pooled_worst, float(np.abs(pooled - rows[0]).max()))
    assert at == want.size
    return {"llama_cpp_hidden_max_abs_diff": worst, "llama_cpp_pooled_max_abs_diff": pooled_worst}


def compare(file, path, data):
    params = lc.llama_model_default_params()
    params.n_gpu_layers = 0
    params.use_extra_bufts = False
    model = lc.llama_model_load_from_file(file.encode(), params)
    if not model:
        return {"llama_cpp": "does not load it"}
    try:
        return (compare_embeddings if "embeddings_file" in data else compare_logits)(model, path, data)
    except RuntimeError as error:
        return {"llama_cpp": str(error)}
    finally:
        lc.llama_model_free(model)


def main(path, copy=None):
    """path: of the model without its ending; copy: a GGUF file with the same values in f32."""
    lc.llama_log_set(quiet, ctypes.c_void_p(0))
    lc.llama_backend_init()
    with open(path + ".json", encoding="ascii") as file:
        data = json.load(file)
    data["check"].update(compare(path + ".gguf", path, data))
    if copy:
        data["check"].update({key + "_as_f32": value for key, value in compare(copy, path, data).items()
                              if "max_abs_diff" in key and "per_sequence" not in key})
    with open(path + ".json", "w", encoding="ascii") as file:
        json.dump(data, file)
        file.write("\n")
    print(os.path.basename(path), os.path.getsize(path + ".gguf"),
          {key: value if isinstance(value, str) else "%.2g" % value for key, value in data["check"].items()
           if "kl" not in key and "per" not in key}, flush=True)


main(*sys.argv[1:])
