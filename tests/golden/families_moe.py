# Tiny mixture-of-experts decoders of the llama kind: mixtral, granitemoe, qwen2moe.
from transformers import (GraniteMoeConfig, GraniteMoeForCausalLM, GraniteMoeSharedConfig,
                          GraniteMoeSharedForCausalLM, MixtralConfig, MixtralForCausalLM, Qwen2MoeConfig,
                          Qwen2MoeForCausalLM)

from families_common import Spec, rename, store
from families_dense import BASE, DECODER, LAYER, interleave_qk, prepare


def split_experts(spec, key, value):
    """gate_up_proj [experts, 2 ffn, hidden] becomes two tensors; True when the key was one."""
    if not key.endswith("experts.gate_up_proj"):
        return False
    layer, half = key.split(".")[2], value.shape[1] // 2
    spec.add("blk.%s.ffn_gate_exps.weight" % layer, value[:, :half])
    spec.add("blk.%s.ffn_up_exps.weight" % layer, value[:, half:])
    return True


def mixtral(name):
    """Architecture llama with experts: softmax over all, the top two renormalised."""
    config = MixtralConfig(**{**BASE, "intermediate_size": 32}, num_local_experts=4, num_experts_per_tok=2,
                           rms_norm_eps=1e-5,
                           rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})
    spec = Spec(name, "llama", "llama").config(config)
    spec.put("{}.expert_count", 4).put("{}.expert_used_count", 2)
    spec.put("{}.rope.freq_base", 1000000.0).put("{}.rope.dimension_count", 16)
    f16 = name.endswith("-f16")
    model = prepare(MixtralForCausalLM, config, spec, f16)
    table = {**DECODER, LAYER + "mlp.gate.weight": "blk.{}.ffn_gate_inp.weight",
             LAYER + "mlp.experts.down_proj": "blk.{}.ffn_down_exps.weight"}
    turn = interleave_qk(config)
    rename(spec, model, table, 2, lambda key, value: None if split_experts(spec, key, value) else turn(key, value))
    store(spec, model, f16=f16)


def granitemoe(name):
    """Granite's multipliers with experts; `-shared` adds an expert for all without a gate."""
    shared = name.endswith("-shared")
    options = dict(**{**BASE, "intermediate_size": 24}, attention_multiplier=0.2, embedding_multiplier=5.0,
                   residual_multiplier=0.4, logits_scaling=2.0, rms_norm_eps=1e-5, num_local_experts=4,
                   num_experts_per_tok=2)
    config = GraniteMoeSharedConfig(**options, shared_intermediate_size=32) if shared else \
        GraniteMoeConfig(**options)
    spec = Spec(name, "granitemoe", "llama").config(config)
    spec.put("{}.expert_count", 4).put("{}.expert_used_count", 2)
    spec.put("{}.rope.freq_base", 10000.0).put("{}.rope.dimension_count", 16)
    spec.put("{}.attention.scale", 0.2).put("{}.embedding_scale", 5.0).put("{}.residual_scale", 0.4)
    spec.put("{}.logit_scale", 2.0)
    if shared:
        spec.put("{}.expert_shared_feed_forward_length", 32)
    model = prepare(GraniteMoeSharedForCausalLM if shared else GraniteMoeForCausalLM, config, spec)
    moe = LAYER + "block_sparse_moe."
    table = {**DECODER, moe + "router.weight": "blk.{}.ffn_gate_inp.weight",
             moe + "experts.down_proj": "blk.{}.ffn_down_exps.weight",
             LAYER + "shared_mlp.output_linear.weight": "blk.{}.ffn_down_shexp.weight"}
    turn = interleave_qk(config)

    def change(key, value):
        if key.endswith("shared_mlp.input_linear.weight"):
            layer = key.split(".")[2]
            spec.add("blk.%s.ffn_gate_shexp.weight" % layer, value[:32])
            spec.add("blk.%s.ffn_up_shexp.weight" % layer, value[32:])
            return None
        return None if split_experts(spec, key, value) else turn(key, value)

    rename(spec, model, table, 2, change)
    store(spec, model)


def qwen2moe(name):
    """Softmax over all experts, the top two not renormalised; a shared expert times sigmoid of its own gate."""
    config = Qwen2MoeConfig(**{**BASE, "tie_word_embeddings": False}, num_experts=5, num_experts_per_tok=2,
                            moe_intermediate_size=24, shared_expert_intermediate_size=40, norm_topk_prob=False,
                            rms_norm_eps=1e-6, decoder_sparse_step=1,
                            rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})
    spec = Spec(name, "qwen2moe", "qwen2").config(config)
    spec.put("{}.rope.freq_base", 1000000.0).put("{}.expert_count", 5).put("{}.expert_used_count", 2)
    spec.put("{}.expert_feed_forward_length", 24).put("{}.expert_shared_feed_forward_length", 40)
    f16 = name.endswith("-f16")
    model = prepare(Qwen2MoeForCausalLM, config, spec, f16)
    table = {**DECODER, LAYER + "mlp.gate.weight": "blk.{}.ffn_gate_inp.weight",
             LAYER + "mlp.experts.down_proj": "blk.{}.ffn_down_exps.weight",
             LAYER + "mlp.shared_expert_gate.weight": "blk.{}.ffn_gate_inp_shexp.weight"}
    for part in ("gate", "up", "down"):
        table[LAYER + "mlp.shared_expert.%s_proj.weight" % part] = "blk.{}.ffn_%s_shexp.weight" % part

    def change(key, value):
        if key.endswith("shared_expert_gate.weight"):
            return value[0]
        return None if split_experts(spec, key, value) else value

    rename(spec, model, table, 2, change)
    store(spec, model, f16=f16)


FAMILIES = {"mixtral": mixtral, "granitemoe": granitemoe, "granitemoe-shared": granitemoe, "qwen2moe": qwen2moe,
            "qwen2moe-f16": qwen2moe}
