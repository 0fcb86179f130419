// Keys and values of one layer, in pages and in the form that the executable was compiled for.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "cpu/kernels/row_layout.h"

namespace takt::cpu {

// float16 unless the options ask for another form; check_compile_options() has passed them.
KvForm kv_form(const CompileOptions& options);

// What one key head has in a page, or in a gathered block of kRowLanes positions:
//   keys    elements [key_dim][n_tokens]: the positions of a dimension side by side
//   values  elements [n_tokens][value_stride]
// q8_0 has its scales, float16, behind the elements: [key_dim / 32][n_tokens], [n_tokens][value_stride / 32].
// So decode reads two runs of bytes without gaps, 34 bytes for 32 values of q8_0.
struct KvRun {
    std::byte *keys = nullptr, *values = nullptr;
    uint32_t n_tokens = 0;
};

// Shape of the runs of one layer.
struct KvShape {
    KvForm form = KvForm::f16;
    uint32_t n_kv_heads = 0, key_dim = 0;
    uint32_t value_stride = 0;  // value_dim rounded up to whole vectors; the rest stays zero

    static KvShape of(const KvStateDecl& state, KvForm form);
    uint64_t element_bytes() const { return form == KvForm::q8_0 ? 1 : form == KvForm::f16 ? 2 : 4; }
    uint64_t key_bytes(uint32_t n_tokens) const { return run_bytes(uint64_t{key_dim} * n_tokens); }
    uint64_t value_bytes(uint32_t n_tokens) const { return run_bytes(uint64_t{value_stride} * n_tokens); }

    // Lets a block of a tile point to the positions of a run from `token` on.
    void point(AttentionTile& tile, int block, const KvRun& run, uint32_t token) const;
    // Keys and values of one position, without their unused rest.
    void copy_position(const KvRun& from, uint32_t from_token, const KvRun& to, uint32_t to_token) const;
    // Keys and values of one position of one head as they lie outside (backend/state_form.h), and back.
    void give(const KvRun& run, uint32_t token, uint32_t value_dim, std::byte* keys, std::byte* values) const;
    void take(const KvRun& run, uint32_t token, uint32_t value_dim, const std::byte* keys,
              const std::byte* values) const;
    // Stores one position of one head. `scratch` holds key_dim floats or more.
    void store(const RowKernels& kernels, const float* keys, const float* values, uint32_t value_dim,
               const KvRun& run, uint32_t token, void* scratch) const;

private:
    uint64_t run_bytes(uint64_t n_elements) const {
        const uint64_t scales = form == KvForm::q8_0 ? n_elements / kKvBlock * sizeof(uint16_t) : 0;
        return n_elements * element_bytes() + scales;
    }
    uint16_t* key_scales(const KvRun& run) const;
    uint16_t* value_scales(const KvRun& run) const;
};

struct KvPages {
    KvShape shape;
    uint32_t page_tokens = 0;
    AlignedBuffer keys, values;  // [page][n_kv_heads] runs

    KvRun run(uint64_t page, uint32_t kv_head) {
        const uint64_t index = page * shape.n_kv_heads + kv_head;
        return {keys.as<std::byte>().data() + index * shape.key_bytes(page_tokens),
                values.as<std::byte>().data() + index * shape.value_bytes(page_tokens), page_tokens};
    }
};

}  // namespace takt::cpu
