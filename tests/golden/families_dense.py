# Tiny dense decoders: granite, olmo2, gemma, mistral3, phi3 with LongRoPE, llama and qwen2 with YaRN.
import math

import numpy as np
import torch
from transformers import (GemmaConfig, GemmaForCausalLM, GraniteConfig, GraniteForCausalLM, LlamaConfig,
                          LlamaForCausalLM, Ministral3Config, Ministral3ForCausalLM, Olmo2Config,
                          Olmo2ForCausalLM, Phi3Config, Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM)

from families_common import (Spec, calibrate, permute_rope, randomize, rename, round_to_f16, run, sequences_of,
                             store)

BASE = dict(vocab_size=384, hidden_size=64, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=256, pad_token_id=None, bos_token_id=None,
            eos_token_id=None, tie_word_embeddings=True, attention_dropout=0.0)
LAYER = "model.layers.{}."
COMMON = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
          "lm_head.weight": "output.weight"}
ATTENTION = {LAYER + "self_attn.%s_proj.%s" % (a, w): "blk.{}.attn_%s.%s" % (b, w)
             for a, b in (("q", "q"), ("k", "k"), ("v", "v"), ("o", "output")) for w in ("weight", "bias")}
NORMS = {LAYER + "input_layernorm.weight": "blk.{}.attn_norm.weight",
         LAYER + "post_attention_layernorm.weight": "blk.{}.ffn_norm.weight"}
MLP = {LAYER + "mlp.%s_proj.weight" % a: "blk.{}.ffn_%s.weight" % a for a in ("gate", "up", "down")}
DECODER = {**COMMON, **ATTENTION, **NORMS, **MLP}


def build(cls, config):
    config._experts_implementation = "eager"
    return cls._from_config(config, attn_implementation="eager", dtype=torch.float32).eval()


def prepare(cls, config, spec, f16=False, norm_offset=0.0, overrides=(), wanted=2.5):
    """A random model whose logits spread by about `wanted`."""
    model = build(cls, config)
    randomize(model, spec.name.removesuffix("-f16"), norm_offset, overrides)
    if f16:
        round_to_f16(model)
    calibrate(model, sequences_of(spec)[1], model.model.norm, norm_offset, wanted)
    return model


def interleave_qk(config):
    """The change of `rename` for families whose rope pairs neighbours."""
    def change(key, value):
        if ".q_proj." in key:
            return permute_rope(value, config.num_attention_heads)
        return permute_rope(value, config.num_key_value_heads) if ".k_proj." in key else value
    return change


def granite(name):
    """Llama with four multipliers; the logit scale divides."""
    config = GraniteConfig(**BASE, attention_multiplier=0.09, embedding_multiplier=3.0, residual_multiplier=0.6,
                           logits_scaling=4.0, rms_norm_eps=1e-5)
    spec = Spec(name, "granite", "llama").config(config)
    spec.put("{}.rope.freq_base", 10000.0).put("{}.rope.dimension_count", 16)
    spec.put("{}.attention.scale", 0.09).put("{}.embedding_scale", 3.0).put("{}.residual_scale", 0.6)
    spec.put("{}.logit_scale", 4.0)
    f16 = name.endswith("-f16")
    model = prepare(GraniteForCausalLM, config, spec, f16)
    rename(spec, model, DECODER, 2, interleave_qk(config))
    store(spec, model, f16=f16)


def olmo2(name):
    """No pre-norms: attention and feed-forward outputs are normed; q and k are normed over their full width."""
    config = Olmo2Config(**{**BASE, "num_key_value_heads": 4, "tie_word_embeddings": False},
                         rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    spec = Spec(name, "olmo2", "llama").config(config)
    spec.put("{}.rope.freq_base", 500000.0)
    model = prepare(Olmo2ForCausalLM, config, spec)
    norms = {LAYER + "self_attn.q_norm.weight": "blk.{}.attn_q_norm.weight",
             LAYER + "self_attn.k_norm.weight": "blk.{}.attn_k_norm.weight",
             LAYER + "post_attention_layernorm.weight": "blk.{}.post_attention_norm.weight",
             LAYER + "post_feedforward_layernorm.weight": "blk.{}.post_ffw_norm.weight"}
    rename(spec, model, {**DECODER, **norms}, 2)
    store(spec, model)


def gemma(name):
    """The first Gemma: embeddings times sqrt(64), GELU, one KV head, norms stored as 1 + w."""
    config = GemmaConfig(**{**BASE, "num_key_value_heads": 1}, head_dim=32, rms_norm_eps=1e-6,
                         hidden_activation="gelu_pytorch_tanh")
    spec = Spec(name, "gemma", "gemma2").config(config)
    spec.put("{}.attention.key_length", 32).put("{}.attention.value_length", 32)
    model = prepare(GemmaForCausalLM, config, spec, norm_offset=1.0)
    rename(spec, model, DECODER, 2, lambda key, value: value + 1 if key.endswith("norm.weight") else value)
    store(spec, model)


def mistral3(name):
    """YaRN with mscale_all_dim, and queries scaled by 1 + beta ln(1 + floor(pos / original context))."""
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 32,
            "beta_fast": 4.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
            "llama_4_scaling_beta": 0.3}
    config = Ministral3Config(**BASE, head_dim=32, rms_norm_eps=1e-5,
                              rope_parameters=dict(rope))
    spec = Spec(name, "mistral3", "llama").config(config)
    spec.put("{}.attention.key_length", 32).put("{}.attention.value_length", 32)
    spec.put("{}.rope.freq_base", 10000.0).put("{}.rope.dimension_count", 32)
    put_yarn(spec, rope)
    spec.put("{}.rope.scaling.yarn_log_multiplier", 1.0).put("{}.attention.temperature_scale", 0.3)
    model = prepare(Ministral3ForCausalLM, config, spec)
    rename(spec, model, DECODER, 2, interleave_qk(config))
    store(spec, model, lengths=(150,))


def put_yarn(spec, rope):
    spec.put("{}.rope.scaling.type", "yarn").put("{}.rope.scaling.factor", rope["factor"])
    spec.put("{}.rope.scaling.original_context_length", rope["original_max_position_embeddings"])
    if "attention_factor" in rope:
        spec.put("{}.rope.scaling.yarn_attn_factor", rope["attention_factor"])
    if "beta_fast" in rope:
        spec.put("{}.rope.scaling.yarn_beta_fast", rope["beta_fast"])
        spec.put("{}.rope.scaling.yarn_beta_slow", rope["beta_slow"])


def llama_yarn(name):
    """YaRN with its own betas."""
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32,
            "beta_fast": 8.0, "beta_slow": 2.0}
    config = LlamaConfig(**{**BASE, "max_position_embeddings": 128}, rms_norm_eps=1e-5, head_dim=32,
                         rope_parameters=dict(rope))
    spec = Spec(name, "llama", "llama").config(config)
    spec.put("{}.attention.key_length", 32).put("{}.attention.value_length", 32)
    spec.put("{}.rope.freq_base", 10000.0).put("{}.rope.dimension_count", 32)
    put_yarn(spec, rope)
    model = prepare(LlamaForCausalLM, config, spec)
    rename(spec, model, DECODER, 2, interleave_qk(config))
    store(spec, model, lengths=(120,), extra={"llama_cpp_context": {"yarn_beta_fast": 8.0, "yarn_beta_slow": 2.0},
                                              "note": "llama.cpp ignores the two beta keys of this architecture"})


def qwen2_yarn(name):
    """YaRN as Qwen2.5 model cards ask for it: factor and original context alone."""
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}
    config = Qwen2Config(**{**BASE, "max_position_embeddings": 128}, rms_norm_eps=1e-6,
                         rope_parameters=dict(rope))
    spec = Spec(name, "qwen2", "qwen2").config(config)
    spec.put("{}.rope.freq_base", 10000.0)
    put_yarn(spec, rope)
    model = prepare(Qwen2ForCausalLM, config, spec)
    rename(spec, model, DECODER, 2)
    store(spec, model, lengths=(120,))


def phi3_longrope(name):
    """Two sets of rope factors: short up to the original context of 256, long beyond; 12 of 16 dims rotate."""
    rng = np.random.default_rng(7)
    short = [round(float(x), 3) for x in 1.0 + rng.random(6)]
    long = [round(float(x), 3) for x in 1.5 + 4 * rng.random(6)]
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": short, "long_factor": long,
            "original_max_position_embeddings": 256, "partial_rotary_factor": 0.75}
    options = dict(**{**BASE, "max_position_embeddings": 1024}, rms_norm_eps=1e-5, sliding_window=262144,
                   original_max_position_embeddings=256)
    config = Phi3Config(**options, rope_parameters=dict(rope))
    spec = Spec(name, "phi3", "phi3").config(config)
    # llama.cpp looks up this family's special tokens, absent here, when the name says phi3.
    spec.put("general.name", "tiny-p3-longrope")
    spec.put("{}.rope.scaling.original_context_length", 256).put("{}.rope.dimension_count", 12)
    spec.put("{}.rope.freq_base", 10000.0).put("{}.attention.sliding_window", 262144)
    spec.put("{}.rope.scaling.attn_factor", math.sqrt(1 + math.log(1024 / 256) / math.log(256)))
    model = prepare(Phi3ForCausalLM, config, spec)
    fused = {LAYER + "self_attn.qkv_proj.weight": "blk.{}.attn_qkv.weight",
             LAYER + "mlp.gate_up_proj.weight": "blk.{}.ffn_up.weight"}
    rename(spec, model, {**DECODER, **fused}, 2)
    spec.add("rope_factors_long.weight", np.array(long))
    spec.add("rope_factors_short.weight", np.array(short))
    # The third length is short but is to be run with long factors, as an engine with a large context does.
    always_long = build(Phi3ForCausalLM, Phi3Config(**options, rope_parameters={**rope, "short_factor": long}))
    always_long.load_state_dict(model.state_dict())
    expected = {i: run(always_long if i == 3 else model, ids)
                for i, ids in enumerate(sequences_of(spec, (300, 60)))}
    store(spec, model, lengths=(300, 60), context=[256, 256, 512, 512], expected=expected,
          extra={"note": "context_tokens decides the factors: long when it exceeds the original context of 256"})


FAMILIES = {"granite": granite, "granite-f16": granite, "olmo2": olmo2, "gemma": gemma, "mistral3": mistral3,
            "phi3-longrope": phi3_longrope, "llama-yarn": llama_yarn, "qwen2-yarn": qwen2_yarn}
