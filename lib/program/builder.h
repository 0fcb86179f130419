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

    // The same name again gives the same weight (a head tied to the embedding).
    WeightId weight(std::string name, DType dtype, uint32_t rows, uint32_t columns);
    uint32_t group(std::string name, uint32_t window);
    uint32_t recurrent_group(std::string name);
    StateId kv_state(std::string name, uint32_t group, uint32_t n_kv_heads, uint32_t key_dim,
                     uint32_t value_dim);
    RecurrentStateId recurrent_state(std::string name, uint32_t group, uint32_t n_floats);

    uint32_t width(ValueId id) const { return decl(id).width; }

    ValueId embed(std::string name, WeightId table);
    ValueId rms_norm(std::string name, ValueId in, WeightId weight, float epsilon);
    ValueId matmul(std::string name, ValueId in, WeightId weight, WeightId bias = {});
    ValueId rope(std::string name, ValueId in, const RopeOp& shape);  // in, out of `shape` are ignored
    void kv_append(ValueId keys, ValueId values, StateId state);
    ValueId attention(std::string name, ValueId query, StateId state, uint32_t n_heads, float scale,
                      float soft_cap = 0);
    ValueId short_conv(std::string name, ValueId in, WeightId weight, RecurrentStateId state);
    ValueId gated_recurrence(std::string name, ValueId gate, ValueId in, RecurrentStateId state);
    ValueId gated_activation(std::string name, ValueId gate, ValueId up, Activation activation);
    ValueId add(std::string name, ValueId a, ValueId b);
    ValueId scale(std::string name, ValueId in, float factor);
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
