# Tiny gpt-oss models: sinks, alternating windows, biases everywhere, MXFP4 or f32 experts.
import gguf
import numpy as np
import torch
from transformers import GptOssConfig, GptOssForCausalLM

from families_common import Spec, rename, run, sequences_of, store
from families_dense import BASE, DECODER, LAYER, build, prepare, put_yarn

MXFP4 = gguf.GGMLQuantizationType.MXFP4


def store_experts(spec, name, weight, mxfp4):
    """weight [experts, out, in]; as MXFP4 the blocks are written and the rounded values returned."""
    weight = np.ascontiguousarray(weight.detach().numpy())
    if not mxfp4:
        spec.add(name, weight)
        return torch.from_numpy(weight)
    blocks = gguf.quants.quantize(weight, MXFP4)
    spec.add_raw(name, blocks, MXFP4)
    return torch.from_numpy(gguf.quants.dequantize(blocks, MXFP4).reshape(weight.shape).copy())


def convert_experts(spec, model, mxfp4):
    """gate_up_proj [experts, hidden, 2 ffn] has gate and up by turns; the model gets the rounded weights back."""
    with torch.no_grad():
        for i, layer in enumerate(model.model.layers):
            experts = layer.mlp.experts
            gate_up = experts.gate_up_proj.transpose(1, 2)
            gate = store_experts(spec, "blk.%d.ffn_gate_exps.weight" % i, gate_up[:, ::2], mxfp4)
            up = store_experts(spec, "blk.%d.ffn_up_exps.weight" % i, gate_up[:, 1::2], mxfp4)
            down = store_experts(spec, "blk.%d.ffn_down_exps.weight" % i, experts.down_proj.transpose(1, 2), mxfp4)
            experts.gate_up_proj.copy_(torch.stack((gate, up), 2).flatten(1, 2).transpose(1, 2))
            experts.down_proj.copy_(down.transpose(1, 2))
            spec.add("blk.%d.ffn_gate_exps.bias" % i, experts.gate_up_proj_bias[:, ::2])
            spec.add("blk.%d.ffn_up_exps.bias" % i, experts.gate_up_proj_bias[:, 1::2])
            spec.add("blk.%d.ffn_down_exps.bias" % i, experts.down_proj_bias)


def gpt_oss(name):
    """The plain name: MXFP4 experts, YaRN whose range isn't rounded to whole dims. `-f32`: f32 experts, no YaRN."""
    mxfp4 = not name.endswith("-f32")
    layers, ffn = (3, 64) if mxfp4 else (2, 32)
    yarn = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "original_max_position_embeddings": 256, "truncate": False}
    rope = yarn if mxfp4 else {"rope_type": "default", "rope_theta": 150000.0}
    options = {**BASE, "num_hidden_layers": layers, "intermediate_size": ffn, "tie_word_embeddings": False,
               "max_position_embeddings": 1024, "head_dim": 32, "num_local_experts": 4, "num_experts_per_tok": 2,
               "sliding_window": 16, "rms_norm_eps": 1e-5}
    config = GptOssConfig(**options, rope_parameters=dict(rope))
    spec = Spec(name, "gpt-oss", "llama").config(config)
    spec.put("{}.attention.key_length", 32).put("{}.attention.value_length", 32)
    spec.put("{}.rope.freq_base", rope["rope_theta"]).put("{}.attention.sliding_window", 16)
    spec.put("{}.expert_count", 4).put("{}.expert_used_count", 2).put("{}.expert_feed_forward_length", ffn)
    if mxfp4:
        put_yarn(spec, rope)
    # Wide experts, so that some gates and ups reach the limit of 7.
    model = prepare(GptOssForCausalLM, config, spec, overrides=(("gate_up_proj_bias", 0.0, 0.5),
                                                                 ("gate_up_proj", 0.0, 0.5), ("sinks", 1.0, 1.5)))
    convert_experts(spec, model, mxfp4)
    table = {**DECODER, LAYER + "self_attn.sinks": "blk.{}.attn_sinks.weight",
             LAYER + "post_attention_layernorm.weight": "blk.{}.post_attention_norm.weight",
             LAYER + "mlp.router.weight": "blk.{}.ffn_gate_inp.weight",
             LAYER + "mlp.router.bias": "blk.{}.ffn_gate_inp.bias"}
    rename(spec, model, table, layers, lambda key, value: None if ".experts." in key else value)
    if not mxfp4:
        store(spec, model, lengths=(100,))
        return
    rounded = build(GptOssForCausalLM, GptOssConfig(**options, rope_parameters={**rope, "truncate": True}))
    rounded.load_state_dict(model.state_dict())
    other = [run(rounded, ids) for ids in sequences_of(spec, (300,))]
    store(spec, model, lengths=(300,), others={"truncated": other},
          extra={"note": "The family's own YaRN range has fractional bounds. llama.cpp rounds them (floor, ceil): "
                         "that gives the logits in other_logits.truncated."})


FAMILIES = {"gpt-oss": gpt_oss, "gpt-oss-f32": gpt_oss}
