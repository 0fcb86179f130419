# Shared ground of make_families.py: random weights, the GGUF writer, expected logits, the JSON of each model.
import json
import os
import subprocess
import tempfile
import zlib

import gguf
import numpy as np
import torch

# The existing tiny files: their tokenizers are reused.
TINY = os.environ.get("TAKT_TINY", "/work/shared/golden/tiny")
OUT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "data", "families"))
TAIL = 12  # logits are kept for the last positions of a sequence only: they see everything before
F32, F16 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16
# Matrices that the usual converter leaves in f32 whatever the file type.
KEEP_F32 = ("_norm", "ffn_gate_inp", "ssm_conv1d", "shortconv.conv", "token_types", "position_embd", "rope_")
torch.manual_seed(0)
torch.set_num_threads(1)


def rng_of(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def randomize(model, name, norm_offset=0.0, overrides=()):
    """Every parameter gets lively values: a missing op, bias or norm must show.

    norm_offset: what the model adds to a norm's weight itself (1 for Gemma's and Qwen3.5's `1 + w`).
    overrides: (substring, mean, std) for parameters that need their own scale.
    """
    rng = rng_of(name)
    with torch.no_grad():
        for key, param in sorted(model.named_parameters()):
            special = next((o for o in overrides if o[0] in key), None)
            noise = rng.standard_normal(tuple(param.shape)).astype(np.float32)
            if special:
                value = special[1] + special[2] * noise
            elif "norm" in key and key.endswith("weight"):
                value = 1.0 - norm_offset + 0.3 * noise
            elif param.ndim == 1 or key.endswith("bias"):
                value = 0.3 * noise
            elif "embed" in key:
                value = noise
            else:
                value = 1.4 * noise / np.sqrt(param.shape[-1])
            param.copy_(torch.from_numpy(np.asarray(value, np.float32)))
    return model


def round_to_f16(model):
    """The `-f16` variants: expected logits come from the very weights the file holds."""
    with torch.no_grad():
        for param in model.parameters():
            if param.ndim >= 2:
                param.copy_(param.half().float())


def run(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float().numpy()


def calibrate(model, ids, norm, offset=0.0, wanted=2.5):
    """Scales the final norm so that logits spread by about `wanted`."""
    std = float(run(model, ids).std())
    with torch.no_grad():
        norm.weight.copy_((norm.weight + offset) * (wanted / std) - offset)


def permute_rope(weight, n_heads):
    """Half-split rotary pairs (i, i + d/2) to neighbours (2i, 2i + 1), row-wise per head."""
    return weight.reshape(n_heads, 2, weight.shape[0] // n_heads // 2, *weight.shape[1:]) \
        .swapaxes(1, 2).reshape(weight.shape)


class Tiny:
    """The tokenizer, a text sequence and the tokenizer cases of an existing tiny file."""

    def __init__(self, name):
        self.fields = [f for f in gguf.GGUFReader(os.path.join(TINY, name + ".gguf")).fields.values()
                       if f.name.startswith("tokenizer.")]
        with open(os.path.join(TINY, name + ".json"), encoding="ascii") as file:
            data = json.load(file)
        self.text_ids = data["sequences"][1]["ids"]
        self.cases = data["tokenize"]


class Spec:
    """What goes into one GGUF file: typed metadata in order, then tensors under their GGUF names."""

    def __init__(self, name, arch, tokenizer):
        self.name, self.arch = name, arch
        self.tiny = Tiny(tokenizer) if isinstance(tokenizer, str) else tokenizer
        self.meta, self.tensors, self.raw = [], {}, {}
        self.put("general.name", "tiny-" + name)

    def put(self, key, value):
        """int: u32, float: f32, bool, str, lists of those (ints as i32); the last value of a key counts."""
        key = key.replace("{}", self.arch)
        self.meta = [pair for pair in self.meta if pair[0] != key] + [(key, value)]
        return self

    def drop(self, key):
        self.meta = [pair for pair in self.meta if pair[0] != key.replace("{}", self.arch)]

    def config(self, config, **more):
        """The keys every decoder has."""
        head_kv = more.pop("head_kv", config.num_key_value_heads)
        self.put("{}.block_count", more.pop("blocks", config.num_hidden_layers))
        self.put("{}.context_length", config.max_position_embeddings)
        self.put("{}.embedding_length", config.hidden_size)
        self.put("{}.feed_forward_length", more.pop("ffn", getattr(config, "intermediate_size", 0)))
        self.put("{}.attention.head_count", config.num_attention_heads)
        self.put("{}.attention.head_count_kv", head_kv)
        eps = more.pop("eps", getattr(config, "rms_norm_eps", None))
        if eps is not None:
            self.put("{}.attention.layer_norm_rms_epsilon", float(eps))
        self.put("{}.vocab_size", config.vocab_size)
        assert not more
        return self

    def add(self, name, value):
        assert name not in self.tensors, name
        self.tensors[name] = np.ascontiguousarray(value.detach().numpy() if torch.is_tensor(value) else value,
                                                  dtype=np.float32)

    def add_raw(self, name, blocks, dtype):
        self.raw[name] = (blocks, dtype)

    def write_f32(self, path, f16):
        """The same values without rounding left to do: what an engine gets that keeps activations in f32."""
        plain = Spec.__new__(Spec)
        plain.arch, plain.tiny, plain.meta, plain.raw = self.arch, self.tiny, self.meta, {}
        plain.tensors = {name: value.astype(np.float16).astype(np.float32)
                         if f16 and self.is_half(name, value) else value for name, value in self.tensors.items()}
        for name, (blocks, dtype) in self.raw.items():
            plain.tensors[name] = gguf.quants.dequantize(blocks, dtype)
        plain.write(path, False)

    @staticmethod
    def is_half(name, value):
        return value.ndim >= 2 and name.endswith(".weight") and not any(part in name for part in KEEP_F32)

    def write(self, path, f16):
        writer = gguf.GGUFWriter(path, self.arch)
        for key, value in self.meta + [("general.file_type", 1 if f16 else 0)]:
            if isinstance(value, bool):
                writer.add_bool(key, value)
            elif isinstance(value, int):
                writer.add_uint32(key, value)
            elif isinstance(value, float):
                writer.add_float32(key, value)
            elif isinstance(value, str):
                writer.add_string(key, value)
            else:
                writer.add_array(key, value)
        for field in self.tiny.fields:
            sub = field.types[1] if len(field.types) > 1 else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub)
        for name, value in self.tensors.items():
            half = f16 and self.is_half(name, value)
            value = value.astype(np.float16) if half else value
            writer.add_tensor(name, value, raw_dtype=F16 if half else F32)
        for name, (blocks, dtype) in self.raw.items():
            writer.add_tensor(name, blocks, raw_dtype=dtype)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def rename(spec, model, table, n_layers, change=None):
    """Parameters to tensors by a table of HF name -> GGUF name ({} is the layer); `change` rewrites values.

    change(hf_name, value) returns a value, or None when it has stored the tensor. Nothing may be left over.
    """
    for key, value in model.state_dict().items():
        if key == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        parts = key.split(".")
        layer = next((p for p in parts if p.isdigit()), None)
        pattern = key if layer is None else key.replace("." + layer + ".", ".{}.", 1)
        if change is not None:
            value = change(key, value)
            if value is None:
                continue
        assert pattern in table, "no GGUF name for " + key
        assert layer is None or int(layer) < n_layers
        spec.add(table[pattern].format(layer), value)


def sequences_of(spec, lengths=()):
    """Random ids, the text of the tokenizer's own tiny file, then random ids of the given lengths."""
    rng = rng_of(spec.name + " ids")
    vocab = 384
    out = [[int(i) for i in rng.integers(3, vocab - 4, 12)], spec.tiny.text_ids]
    return out + [[int(i) for i in rng.integers(3, vocab - 4, n)] for n in lengths]


def greedy(model, prompt, count=24):
    ids, gaps = list(prompt), []
    for _ in range(count):
        row = run(model, ids)[-1]
        best = np.argsort(-row, kind="stable")[:2]
        gaps.append(round(float(row[best[0]] - row[best[1]]), 5))
        ids.append(int(best[0]))
    return {"prompt": list(prompt), "ids": ids[len(prompt):], "gaps": gaps}


def base_json(spec, model):
    return {"file": spec.name + ".gguf", "architecture": spec.arch, "vocab_size": 384,
            "source": "HF transformers 5.24.0 %s float32 eager" % type(model).__name__}


def store(spec, model, lengths=(), f16=False, context=None, expected=None, others=None, extra=None):
    """Writes NAME.gguf, NAME.json and NAME.logits.f32, then asks the usual engine for its own logits.

    context: n_ctx per sequence, where it decides (LongRoPE); expected: logits by sequence computed elsewhere.
    others: {label: logits by sequence} of another reading of the same file, kept in NAME.LABEL.logits.f32.
    """
    name = spec.name
    path = os.path.join(OUT, name)
    spec.write(path + ".gguf", f16)
    data = base_json(spec, model)
    data["size"] = os.path.getsize(path + ".gguf")
    rows, data["sequences"] = [], []
    for i, ids in enumerate(sequences_of(spec, lengths)):
        logits = expected[i] if expected and i in expected else run(model, ids)
        positions = list(range(max(0, len(ids) - TAIL), len(ids)))
        rows.append(logits[positions])
        data["sequences"].append({"ids": ids, "logit_positions": positions})
        if context:
            data["sequences"][-1]["context_tokens"] = context[i]
    rows = np.concatenate(rows).astype("<f4")
    rows.tofile(path + ".logits.f32")
    data["logits_file"], data["logits_rows"] = name + ".logits.f32", len(rows)
    for label, logits in (others or {}).items():
        other = [row[seq["logit_positions"]] for row, seq in zip(logits, data["sequences"])]
        np.concatenate(other).astype("<f4").tofile("%s.%s.logits.f32" % (path, label))
        data.setdefault("other_logits", {})[label] = "%s.%s.logits.f32" % (name, label)
    if not expected:
        data["greedy"] = greedy(model, data["sequences"][0]["ids"])
    data["tokenize"] = spec.tiny.cases
    data.update(extra or {})
    data["check"] = {"logit_std": float(rows.std())}
    write_json(path + ".json", data)
    if f16 or spec.raw:
        with tempfile.TemporaryDirectory() as folder:
            spec.write_f32(os.path.join(folder, "f32.gguf"), f16)
            check(path, os.path.join(folder, "f32.gguf"))
    else:
        check(path)


def write_json(path, data):
    with open(path, "w", encoding="ascii") as file:
        json.dump(data, file)
        file.write("\n")


def check(path, *copy):
    """The other engine lives in its own Python; its answer goes into `check` (nothing when it isn't there).

    copy: the same model in f32, for the other engine rounds activations when weights are f16 or quantized.
    """
    python = os.environ.get("TAKT_LLAMA_CPP_PYTHON", "/tmp/venv/bin/python")
    script = os.path.join(os.path.dirname(__file__), "check_families.py")
    if os.path.exists(python):
        subprocess.run([python, script, path, *copy], check=True)
