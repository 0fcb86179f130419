// What a family's recipe calls. Widths follow from the weights; a mistake is remembered and returned by
// finish().
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "program/program.h"

namespace takt {

class ProgramBuilder {
public:
    ProgramBuilder(std::string family, uint32_t vocab_size);

    // The same rows of the same name again give the same weight (a head tied to the embedding).
    WeightId weight(std::string name, DType dtype, uint32_t rows, uint32_t columns, RowRuns runs = {});
    uint32_t group(std::string name, uint32_t window);
    uint32_t recurrent_group(std::string name);
    StateId kv_state(std::string name, uint32_t group, uint32_t n_kv_heads, uint32_t key_dim,
                     uint32_t value_dim);
    RecurrentStateId recurrent_state(std::string name, uint32_t group, uint32_t n_floats);

    uint32_t width(ValueId id) const { return decl(id).width; }

    ValueId embed(std::string name, WeightId table);
    ValueId position_embed(std::string name, WeightId table);
    ValueId rms_norm(std::string name, ValueId in, WeightId weight, float epsilon);
    ValueId rms_norm_plain(std::string name, ValueId in, uint32_t group, float epsilon);  // without a weight
    ValueId layer_norm(std::string name, ValueId in, WeightId weight, WeightId bias, float epsilon);
    ValueId matmul(std::string name, ValueId in, WeightId weight, WeightId bias = {});
    ValueId rope(std::string name, ValueId in, const RopeOp& shape);  // in, out of `shape` are ignored
    ValueId position_scale(std::string name, ValueId in, float beta, uint32_t period);
    void kv_append(ValueId keys, ValueId values, StateId state);
    ValueId attention(std::string name, ValueId query, StateId state, uint32_t n_heads, float scale,
                      float soft_cap = 0);
    // out of `shape` is ignored.
    ValueId attention(std::string name, const AttentionOp& shape);
    ValueId short_conv(std::string name, ValueId in, WeightId weight, RecurrentStateId state);
    ValueId gated_recurrence(std::string name, ValueId gate, ValueId in, RecurrentStateId state);
    ValueId gated_delta(std::string name, const GatedDeltaOp& shape);  // out of `shape` is ignored
    ValueId gated_activation(std::string name, ValueId gate, ValueId up, Activation activation);
    ValueId activation(std::string name, ValueId in, Activation activation);
    ValueId route(std::string name, const RouteOp& shape);           // out is ignored
    ValueId expert_ffn(std::string name, const ExpertFfnOp& shape);  // out is ignored
    ValueId add(std::string name, ValueId a, ValueId b);
    ValueId add_weight(std::string name, ValueId in, WeightId weight);
    ValueId scale(std::string name, ValueId in, float factor, WeightId by = {});
    ValueId slice(std::string name, ValueId in, uint32_t first, uint32_t width);
    ValueId soft_cap(std::string name, ValueId in, float cap);
    ValueId select_rows(std::string name, ValueId in);

    // Checks the whole (check_program) and hands it over.
    Result<Program> finish(ValueId hidden, ValueId logits) &&;

private:
    ValueId new_value(std::string name, uint32_t width, RowDomain domain);
    ValueId new_like(std::string name, ValueId model);
    // Empty declarations for ids that don't exist; check_program names the op that uses such an id.
    ValueDecl decl(ValueId id) const;
    WeightDecl weight_decl(WeightId id) const;

    Program program_;
    Status mistake_;
    uint32_t n_adapter_slots_ = 0;
};

}  // namespace takt
