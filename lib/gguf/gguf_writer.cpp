// Writes what gguf_parser.cpp reads.
#include "gguf/gguf_writer.h"

#include <algorithm>
#include <cstring>

#include "gguf/gguf_keys.h"

namespace takt {
namespace {

class Bytes {
public:
    template <typename T>
    void number(T value) {
        const size_t at = out_.size();
        out_.resize(at + sizeof(T));
        std::memcpy(out_.data() + at, &value, sizeof(T));
    }
    void text(std::string_view value) {
        number<uint64_t>(value.size());
        const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
        out_.insert(out_.end(), bytes, bytes + value.size());
    }
    void type(GgufType value) { number(static_cast<uint32_t>(value)); }
    void pad(uint64_t alignment) { out_.resize((out_.size() + alignment - 1) / alignment * alignment); }
    size_t size() const { return out_.size(); }
    std::vector<std::byte> take() { return std::move(out_); }

private:
    std::vector<std::byte> out_;
};

// The reader widened it.
template <typename From>
void narrow(Bytes& out, GgufType type, From value) {
    switch (type) {
        case GgufType::u8:
        case GgufType::i8:
        case GgufType::boolean:
            return out.number(static_cast<uint8_t>(value));
        case GgufType::u16:
        case GgufType::i16:
            return out.number(static_cast<uint16_t>(value));
        case GgufType::u32:
        case GgufType::i32:
            return out.number(static_cast<uint32_t>(value));
        default:
            return out.number(static_cast<uint64_t>(value));
    }
}
void narrow(Bytes& out, GgufType type, double value) {
    if (type == GgufType::f32) return out.number(static_cast<float>(value));
    out.number(value);
}

void write_array(Bytes& out, const GgufArray& array) {
    out.type(array.element_type);
    out.number<uint64_t>(array.size());
    for (const uint64_t value : array.unsigneds) narrow(out, array.element_type, value);
    for (const int64_t value : array.signeds) narrow(out, array.element_type, value);
    for (const double value : array.floats) narrow(out, array.element_type, value);
    for (const uint8_t value : array.booleans) out.number(value);
    for (const std::string& value : array.strings) out.text(value);
    for (const auto& inner : array.arrays) write_array(out, *inner);
}

struct WriteValue {
    Bytes& out;
    GgufType type;
    void operator()(const std::string& value) const { out.text(value); }
    void operator()(const std::shared_ptr<const GgufArray>& value) const { write_array(out, *value); }
    void operator()(bool value) const { out.number<uint8_t>(value ? 1 : 0); }
    void operator()(auto value) const { narrow(out, type, value); }
};

}  // namespace

void GgufWriter::set(GgufEntry entry) {
    const auto at = std::ranges::find(entries_, entry.key, &GgufEntry::key);
    if (at != entries_.end())
        *at = std::move(entry);
    else
        entries_.push_back(std::move(entry));
}

void GgufWriter::set_text(std::string_view key, std::string_view value) {
    set({std::string(key), GgufType::string, std::string(value)});
}

void GgufWriter::set_u32(std::string_view key, uint32_t value) {
    set({std::string(key), GgufType::u32, uint64_t{value}});
}

void GgufWriter::set_texts(std::string_view key, std::vector<std::string> values) {
    auto array = std::make_shared<GgufArray>();
    array->element_type = GgufType::string;
    array->strings = std::move(values);
    set({std::string(key), GgufType::array, std::shared_ptr<const GgufArray>(std::move(array))});
}

void GgufWriter::add_tensor(const GgufTensor& tensor) {
    tensors_.push_back(tensor);
    GgufTensor& own = tensors_.back();
    own.part = 0;
    own.size_bytes = row_bytes(own.dtype, own.dims[0]) * own.dims[1] * own.dims[2] * own.dims[3];
}

uint64_t GgufWriter::alignment() const {
    const auto at = std::ranges::find(entries_, gguf_keys::kAlignment, &GgufEntry::key);
    const uint64_t* value = at != entries_.end() ? std::get_if<uint64_t>(&at->value) : nullptr;
    return value != nullptr && *value != 0 ? *value : 32;
}

std::vector<std::byte> GgufWriter::head() {
    const uint64_t aligned_to = alignment();
    Bytes out;
    for (const char c : {'G', 'G', 'U', 'F'}) out.number(c);
    out.number<uint32_t>(3);
    out.number<uint64_t>(tensors_.size());
    out.number<uint64_t>(entries_.size());
    for (const GgufEntry& entry : entries_) {
        out.text(entry.key);
        out.type(entry.type);
        std::visit(WriteValue{out, entry.type}, entry.value);
    }
    uint64_t offset = 0;
    for (GgufTensor& tensor : tensors_) {
        out.text(tensor.name);
        out.number<uint32_t>(tensor.n_dims);
        for (uint32_t i = 0; i < tensor.n_dims; ++i) out.number<uint64_t>(tensor.dims[i]);
        out.number(static_cast<uint32_t>(tensor.dtype));
        out.number<uint64_t>(offset);
        tensor.offset = offset;
        offset += (tensor.size_bytes + aligned_to - 1) / aligned_to * aligned_to;
    }
    out.pad(aligned_to);
    for (GgufTensor& tensor : tensors_) tensor.offset += out.size();
    file_bytes_ = out.size() + offset;
    return out.take();
}

}  // namespace takt
