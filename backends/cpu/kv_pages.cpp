// Places of elements and scales within a run.
#include "cpu/kv_pages.h"

#include <cstring>

#include "tensor/quant_blocks.h"

namespace takt::cpu {
namespace {

// n elements, each `from_step` and `to_step` apart, of any alignment.
template <typename T>
void copy_spaced(const void* from, size_t from_step, void* to, size_t to_step, size_t n) {
    const auto* in = static_cast<const std::byte*>(from);
    auto* out = static_cast<std::byte*>(to);
    for (size_t i = 0; i < n; ++i)
        std::memcpy(out + i * to_step * sizeof(T), in + i * from_step * sizeof(T), sizeof(T));
}

void copy_elements(KvForm form, const void* from, size_t from_step, void* to, size_t to_step, size_t n) {
    switch (form) {
        case KvForm::q8_0:
            return copy_spaced<int8_t>(from, from_step, to, to_step, n);
        case KvForm::f16:
            return copy_spaced<uint16_t>(from, from_step, to, to_step, n);
        case KvForm::f32:
            return copy_spaced<float>(from, from_step, to, to_step, n);
    }
}

// Where a head of q8_0 keeps a position: elements and scales of its n values, each `step` apart.
struct SplitBlocks {
    std::byte* elements;
    uint16_t* scales;
    size_t step;
};

// Lanes and scales to GGUF's blocks, in any place.
void join_blocks(const SplitBlocks& from, std::byte* to, size_t n) {
    for (size_t i = 0; i < n / kKvBlock; ++i) {
        BlockQ8_0 block;
        block.d = from.scales[i * from.step];
        copy_spaced<int8_t>(from.elements + i * kKvBlock * from.step, from.step, block.values, 1, kKvBlock);
        std::memcpy(to + i * sizeof block, &block, sizeof block);
    }
}

void split_blocks(const std::byte* from, const SplitBlocks& to, size_t n) {
    for (size_t i = 0; i < n / kKvBlock; ++i) {
        BlockQ8_0 block;
        std::memcpy(&block, from + i * sizeof block, sizeof block);
        to.scales[i * to.step] = block.d;
        copy_spaced<int8_t>(block.values, 1, to.elements + i * kKvBlock * to.step, to.step, kKvBlock);
    }
}

}  // namespace

KvForm kv_form(const CompileOptions& options) {
    switch (options.kv_dtype.value_or(DType::f16)) {
        case DType::q8_0:
            return KvForm::q8_0;
        case DType::f32:
            return KvForm::f32;
        default:
            return KvForm::f16;
    }
}

KvShape KvShape::of(const KvStateDecl& state, KvForm form) {
    const uint32_t stride = (state.value_dim + kRowLanes - 1) / kRowLanes * kRowLanes;
    return {form, state.n_kv_heads, state.key_dim, stride};
}

uint16_t* KvShape::key_scales(const KvRun& run) const {
    return reinterpret_cast<uint16_t*>(run.keys + uint64_t{key_dim} * run.n_tokens);
}

uint16_t* KvShape::value_scales(const KvRun& run) const {
    return reinterpret_cast<uint16_t*>(run.values + uint64_t{value_stride} * run.n_tokens);
}

void KvShape::point(AttentionTile& tile, int block, const KvRun& run, uint32_t token) const {
    tile.keys[block] = run.keys + token * element_bytes();
    tile.key_stride[block] = run.n_tokens;
    tile.values[block] = run.values + uint64_t{token} * value_stride * element_bytes();
    if (form != KvForm::q8_0) return;
    tile.key_scales[block] = key_scales(run) + token;
    tile.value_scales[block] = value_scales(run) + uint64_t{token} * value_stride / kKvBlock;
}

void KvShape::copy_position(const KvRun& from, uint32_t from_token, const KvRun& to,
                            uint32_t to_token) const {
    const uint64_t value_bytes = value_stride * element_bytes();
    copy_elements(form, from.keys + from_token * element_bytes(), from.n_tokens,
                  to.keys + to_token * element_bytes(), to.n_tokens, key_dim);
    std::memcpy(to.values + to_token * value_bytes, from.values + from_token * value_bytes, value_bytes);
    if (form != KvForm::q8_0) return;
    copy_spaced<uint16_t>(key_scales(from) + from_token, from.n_tokens, key_scales(to) + to_token,
                          to.n_tokens, key_dim / kKvBlock);
    const size_t n_scales = value_stride / kKvBlock;
    std::memcpy(value_scales(to) + to_token * n_scales, value_scales(from) + from_token * n_scales,
                n_scales * sizeof(uint16_t));
}

void KvShape::give(const KvRun& run, uint32_t token, uint32_t value_dim, std::byte* keys,
                   std::byte* values) const {
    std::byte* key = run.keys + token * element_bytes();
    std::byte* value = run.values + uint64_t{token} * value_stride * element_bytes();
    if (form == KvForm::q8_0) {
        join_blocks({key, key_scales(run) + token, run.n_tokens}, keys, key_dim);
        join_blocks({value, value_scales(run) + uint64_t{token} * value_stride / kKvBlock, 1}, values,
                    value_dim);
        return;
    }
    copy_elements(form, key, run.n_tokens, keys, 1, key_dim);
    std::memcpy(values, value, value_dim * element_bytes());
}

void KvShape::take(const KvRun& run, uint32_t token, uint32_t value_dim, const std::byte* keys,
                   const std::byte* values) const {
    std::byte* key = run.keys + token * element_bytes();
    std::byte* value = run.values + uint64_t{token} * value_stride * element_bytes();
    if (form == KvForm::q8_0) {
        split_blocks(keys, {key, key_scales(run) + token, run.n_tokens}, key_dim);
        split_blocks(values, {value, value_scales(run) + uint64_t{token} * value_stride / kKvBlock, 1},
                     value_dim);
        return;
    }
    copy_elements(form, keys, 1, key, run.n_tokens, key_dim);
    std::memcpy(value, values, value_dim * element_bytes());
}

void KvShape::store(const RowKernels& kernels, const float* keys, const float* values, uint32_t value_dim,
                    const KvRun& run, uint32_t token, void* scratch) const {
    std::byte* value = run.values + uint64_t{token} * value_stride * element_bytes();
    const void* key = scratch;
    if (form == KvForm::f16) {
        kernels.to_half(keys, static_cast<uint16_t*>(scratch), key_dim);
        kernels.to_half(values, reinterpret_cast<uint16_t*>(value), value_dim);
    } else if (form == KvForm::q8_0) {
        auto* elements = static_cast<int8_t*>(scratch);
        auto* scales = reinterpret_cast<uint16_t*>(elements + key_dim);
        kernels.to_q8_0(keys, elements, scales, key_dim);
        copy_spaced<uint16_t>(scales, 1, key_scales(run) + token, run.n_tokens, key_dim / kKvBlock);
        kernels.to_q8_0(values, reinterpret_cast<int8_t*>(value),
                        value_scales(run) + uint64_t{token} * value_stride / kKvBlock, value_dim);
    } else {
        key = keys;
        std::memcpy(value, values, value_dim * sizeof(float));
    }
    copy_elements(form, key, 1, run.keys + token * element_bytes(), run.n_tokens, key_dim);
}

}  // namespace takt::cpu
