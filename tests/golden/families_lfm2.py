# Tiny LFM2 models: short convolutions between attention layers, dense and with experts.
import torch
from transformers import Lfm2Config, Lfm2ForCausalLM, Lfm2MoeConfig, Lfm2MoeForCausalLM

from families_common import Spec, calibrate, randomize, rename, rng_of, round_to_f16, sequences_of, store
from families_dense import BASE, COMMON, LAYER, build
from families_moe import split_experts

KINDS = ["conv", "conv", "full_attention", "conv"]
TABLE = {**COMMON, "model.embedding_norm.weight": "token_embd_norm.weight",
         LAYER + "operator_norm.weight": "blk.{}.attn_norm.weight",
         LAYER + "ffn_norm.weight": "blk.{}.ffn_norm.weight",
         LAYER + "conv.conv.weight": "blk.{}.shortconv.conv.weight",
         LAYER + "conv.in_proj.weight": "blk.{}.shortconv.in_proj.weight",
         LAYER + "conv.out_proj.weight": "blk.{}.shortconv.out_proj.weight",
         LAYER + "self_attn.q_proj.weight": "blk.{}.attn_q.weight",
         LAYER + "self_attn.k_proj.weight": "blk.{}.attn_k.weight",
         LAYER + "self_attn.v_proj.weight": "blk.{}.attn_v.weight",
         LAYER + "self_attn.out_proj.weight": "blk.{}.attn_output.weight",
         LAYER + "self_attn.q_layernorm.weight": "blk.{}.attn_q_norm.weight",
         LAYER + "self_attn.k_layernorm.weight": "blk.{}.attn_k_norm.weight",
         LAYER + "feed_forward.w1.weight": "blk.{}.ffn_gate.weight",
         LAYER + "feed_forward.w2.weight": "blk.{}.ffn_down.weight",
         LAYER + "feed_forward.w3.weight": "blk.{}.ffn_up.weight",
         LAYER + "feed_forward.gate.weight": "blk.{}.ffn_gate_inp.weight",
         LAYER + "feed_forward.expert_bias": "blk.{}.exp_probs_b.bias",
         LAYER + "feed_forward.experts.down_proj": "blk.{}.ffn_down_exps.weight"}


def head_kv(kinds):
    return [2 if kind == "full_attention" else 0 for kind in kinds]


def finish(spec, cls, config, f16=False):
    model = build(cls, config)
    # Convolutions see the product of two projections: taps near 1 keep the layer's output alive.
    randomize(model, spec.name.removesuffix("-f16"),
              overrides=(("conv.conv.weight", 0.0, 0.7), ("layernorm", 1.0, 0.3)))
    rng = rng_of(spec.name + " bias")
    for key, buffer in model.named_buffers():
        if key.endswith("expert_bias"):
            buffer.copy_(torch.from_numpy(rng.standard_normal(buffer.shape[0]) * 0.3))
    if f16:
        round_to_f16(model)
    calibrate(model, sequences_of(spec)[1], model.model.embedding_norm)

    def change(key, value):
        if key.endswith("conv.conv.weight"):
            return value[:, 0]
        return None if split_experts(spec, key, value) else value

    rename(spec, model, TABLE, config.num_hidden_layers, change)
    store(spec, model, lengths=(150,), f16=f16)


def lfm2(name):
    config = Lfm2Config(**{**BASE, "num_hidden_layers": 4, "intermediate_size": 48}, norm_eps=1e-5,
                        layer_types=KINDS, conv_L_cache=3, block_auto_adjust_ff_dim=False,
                        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})
    spec = Spec(name, "lfm2", "llama").config(config, head_kv=head_kv(KINDS), eps=1e-5)
    spec.put("{}.rope.freq_base", 1000000.0).put("{}.shortconv.l_cache", 3)
    finish(spec, Lfm2ForCausalLM, config, name.endswith("-f16"))


def lfm2moe(name):
    """One dense layer first; then sigmoid routing, chosen with a bias that the weights don't see."""
    kinds = KINDS[1:4]
    config = Lfm2MoeConfig(**{**BASE, "num_hidden_layers": 3, "intermediate_size": 80}, norm_eps=1e-5,
                           layer_types=kinds, conv_L_cache=4, num_dense_layers=1, num_experts=6,
                           num_experts_per_tok=3, moe_intermediate_size=24, use_expert_bias=True,
                           norm_topk_prob=True, routed_scaling_factor=1.0,
                           rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})
    spec = Spec(name, "lfm2moe", "llama").config(config, head_kv=head_kv(kinds), eps=1e-5)
    spec.put("{}.rope.freq_base", 1000000.0).put("{}.shortconv.l_cache", 4)
    spec.put("{}.expert_count", 6).put("{}.expert_used_count", 3).put("{}.expert_feed_forward_length", 24)
    spec.put("{}.leading_dense_block_count", 1).put("{}.expert_gating_func", 2)
    finish(spec, Lfm2MoeForCausalLM, config)


FAMILIES = {"lfm2": lfm2, "lfm2-f16": lfm2, "lfm2moe": lfm2moe}
