# Tiny Qwen3.5 models: gated delta nets between gated attention layers, dense, with experts, with an MTP block.
import torch
from transformers import (Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig, Qwen3_5TextConfig)

from families_common import Spec, rename, rng_of, store
from families_dense import BASE, DECODER, LAYER, prepare
from families_moe import split_experts

HEADS_K, HEADS_V, HEAD = 2, 6, 16  # linear attention: three value heads share a key head
LINEAR = LAYER + "linear_attn."
TABLE = {**DECODER, LAYER + "post_attention_layernorm.weight": "blk.{}.post_attention_norm.weight",
         LAYER + "self_attn.q_norm.weight": "blk.{}.attn_q_norm.weight",
         LAYER + "self_attn.k_norm.weight": "blk.{}.attn_k_norm.weight",
         LINEAR + "in_proj_qkv.weight": "blk.{}.attn_qkv.weight",
         LINEAR + "in_proj_z.weight": "blk.{}.attn_gate.weight",
         LINEAR + "in_proj_b.weight": "blk.{}.ssm_beta.weight",
         LINEAR + "in_proj_a.weight": "blk.{}.ssm_alpha.weight",
         LINEAR + "conv1d.weight": "blk.{}.ssm_conv1d.weight",
         LINEAR + "dt_bias": "blk.{}.ssm_dt.bias",
         LINEAR + "A_log": "blk.{}.ssm_a",
         LINEAR + "norm.weight": "blk.{}.ssm_norm.weight",
         LINEAR + "out_proj.weight": "blk.{}.ssm_out.weight",
         LAYER + "mlp.gate.weight": "blk.{}.ffn_gate_inp.weight",
         LAYER + "mlp.experts.down_proj": "blk.{}.ffn_down_exps.weight",
         LAYER + "mlp.shared_expert_gate.weight": "blk.{}.ffn_gate_inp_shexp.weight",
         LAYER + "mlp.shared_expert.gate_proj.weight": "blk.{}.ffn_gate_shexp.weight",
         LAYER + "mlp.shared_expert.up_proj.weight": "blk.{}.ffn_up_shexp.weight",
         LAYER + "mlp.shared_expert.down_proj.weight": "blk.{}.ffn_down_shexp.weight"}


def tile_value_heads(value, head, dim=0):
    """Value heads grouped by key head (k0v0 k0v1 k0v2 k1v0 …) to one of each group by turns (k0v0 k1v0 k0v1 …)."""
    moved = value.movedim(dim, 0)
    tiled = moved.reshape(HEADS_K, HEADS_V // HEADS_K, head, *moved.shape[1:]).transpose(0, 1)
    return tiled.reshape(moved.shape).movedim(0, dim)


def change(spec):
    keys = 2 * HEADS_K * HEAD

    def apply(key, value):
        part = key.split("linear_attn.")[-1]
        if part in ("in_proj_qkv.weight", "conv1d.weight"):
            value = value[:, 0] if part == "conv1d.weight" else value
            return torch.cat((value[:keys], tile_value_heads(value[keys:], HEAD)))
        if part == "in_proj_z.weight":
            return tile_value_heads(value, HEAD)
        if part in ("in_proj_a.weight", "in_proj_b.weight", "dt_bias"):
            return tile_value_heads(value, 1)
        if part == "A_log":
            return tile_value_heads(-torch.exp(value), 1)
        if part == "out_proj.weight":
            return tile_value_heads(value, HEAD, 1)
        if key.endswith("norm.weight") and not key.endswith("linear_attn.norm.weight"):
            return value + 1
        return None if split_experts(spec, key, value) else value
    return apply


def add_mtp(spec, block):
    """A block for predicting one more token, as the converter appends it; no forward pass of the model sees it."""
    rng = rng_of(spec.name + " mtp")
    shapes = {"attn_q": (128, 64), "attn_k": (32, 64), "attn_v": (32, 64), "attn_output": (64, 64),
              "attn_q_norm": (32,), "attn_k_norm": (32,), "attn_norm": (64,), "post_attention_norm": (64,),
              "ffn_gate": (48, 64), "ffn_up": (48, 64), "ffn_down": (64, 48), "nextn.eh_proj": (64, 128),
              "nextn.enorm": (64,), "nextn.hnorm": (64,), "nextn.shared_head_norm": (64,)}
    for name, shape in shapes.items():
        noise = rng.standard_normal(shape)
        spec.add("blk.%d.%s.weight" % (block, name), 1 + 0.3 * noise if len(shape) == 1 else 0.15 * noise)


def qwen35(name):
    """Every second layer attends; a quarter of each head rotates; queries come with an output gate."""
    moe, mtp, f16 = name.startswith("qwen35moe"), name.endswith("-mtp"), name.endswith("-f16")
    layers = 2 if moe or mtp else 4
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25,
            "mrope_section": [2, 1, 1], "mrope_interleaved": True}
    options = {**BASE, "num_hidden_layers": layers, "intermediate_size": 48, "head_dim": 32, "rms_norm_eps": 1e-6,
               "num_attention_heads": 2, "num_key_value_heads": 1, "full_attention_interval": 2, "linear_conv_kernel_dim": 4,
               "linear_key_head_dim": HEAD, "linear_value_head_dim": HEAD, "linear_num_key_heads": HEADS_K,
               "linear_num_value_heads": HEADS_V, "rope_parameters": dict(rope)}
    if moe:
        del options["intermediate_size"]
        options.update(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                       shared_expert_intermediate_size=40)
    config = (Qwen3_5MoeTextConfig if moe else Qwen3_5TextConfig)(**options)
    spec = Spec(name, "qwen35moe" if moe else "qwen35", "qwen2")
    spec.config(config, ffn=0 if moe else 48, blocks=layers + mtp)
    if moe:
        spec.drop("{}.feed_forward_length")
        spec.put("{}.expert_count", 6).put("{}.expert_used_count", 2).put("{}.expert_feed_forward_length", 24)
        spec.put("{}.expert_shared_feed_forward_length", 40)
    spec.put("{}.attention.key_length", 32).put("{}.attention.value_length", 32)
    spec.put("{}.rope.freq_base", 10000.0).put("{}.rope.dimension_count", 8)
    spec.put("{}.rope.dimension_sections", [2, 1, 1, 0]).put("{}.full_attention_interval", 2)
    spec.put("{}.ssm.conv_kernel", 4).put("{}.ssm.state_size", HEAD).put("{}.ssm.group_count", HEADS_K)
    spec.put("{}.ssm.time_step_rank", HEADS_V).put("{}.ssm.inner_size", HEADS_V * HEAD)
    model = prepare(Qwen3_5MoeForCausalLM if moe else Qwen3_5ForCausalLM, config, spec, f16, norm_offset=1.0,
                    overrides=(("linear_attn.norm", 1.0, 0.3), ("A_log", -1.0, 1.0), ("dt_bias", 0.0, 0.7)))
    rename(spec, model, TABLE, layers, change(spec))
    if mtp:
        spec.put("{}.nextn_predict_layers", 1)
        add_mtp(spec, layers)
    store(spec, model, lengths=(150,), f16=f16)


FAMILIES = {"qwen35": qwen35, "qwen35-f16": qwen35, "qwen35-mtp": qwen35, "qwen35moe": qwen35}
