// A read GGUF file: look-ups by name and type.
#include "gguf/gguf_reader.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "gguf/gguf_parser.h"
#include "gguf/gguf_parts.h"

namespace takt {
namespace {

constexpr std::string_view kTypeNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "string", "array", "u64", "i64", "f64"};

Status wrong_type(const GgufEntry& entry, std::string_view wanted) {
    return Status(StatusCode::file_invalid, fmt::format("Metadata key {} has type {}, must be {}.", entry.key,
                                                        gguf_type_name(entry.type), wanted));
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
    const auto id = static_cast<uint32_t>(type);
    return id < std::size(kTypeNames) ? kTypeNames[id] : "unknown";
}

size_t GgufArray::size() const {
    return unsigneds.size() + signeds.size() + floats.size() + booleans.size() + strings.size() +
           arrays.size();
}

Result<std::shared_ptr<const GgufFile>> GgufFile::open(std::shared_ptr<const ByteSource> source) {
    const std::string name = source->name();
    try {
        Result<std::shared_ptr<GgufFile>> file = GgufParser(std::move(source)).parse();
        if (!file.ok()) return file.status().with_context(name);
        TAKT_RETURN_IF_ERROR(GgufParts(**file).open_rest());
        return std::shared_ptr<const GgufFile>(std::move(*file));
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::out_of_memory, fmt::format("{}: no memory for its metadata.", name));
    }
}

uint64_t GgufFile::size_bytes() const {
    uint64_t total = 0;
    for (const auto& part : parts_) total += part->size_bytes();
    return total;
}

std::optional<int64_t> GgufFile::modified_ns() const {
    std::optional<int64_t> all = parts_.front()->modified_ns();
    for (size_t i = 1; all && i < parts_.size(); ++i) {
        const auto own = static_cast<uint64_t>(parts_[i]->modified_ns().value_or(0));
        all = static_cast<int64_t>(mix_hash(static_cast<uint64_t>(*all), own));
    }
    return all;
}

Status GgufFile::read(const GgufTensor& tensor, uint64_t offset, std::span<std::byte> out) const {
    return parts_[tensor.part]->read_at(tensor.offset + offset, out);
}

const GgufEntry* GgufFile::find(std::string_view key) const {
    const auto at =
        std::lower_bound(entry_order_.begin(), entry_order_.end(), key,
                         [&](uint32_t i, std::string_view wanted) { return entries_[i].key < wanted; });
    return at != entry_order_.end() && entries_[*at].key == key ? &entries_[*at] : nullptr;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
    const auto at =
        std::lower_bound(tensor_order_.begin(), tensor_order_.end(), name,
                         [&](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
    return at != tensor_order_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

Result<std::optional<uint64_t>> GgufFile::get_uint(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<uint64_t>();
    if (const auto* value = std::get_if<uint64_t>(&entry->value)) return std::optional(*value);
    const auto* value = std::get_if<int64_t>(&entry->value);
    if (value == nullptr) return wrong_type(*entry, "an integer");
    if (*value < 0) {
        return Status(StatusCode::file_invalid,
                      fmt::format("Metadata key {} is {}, out of range: must not be negative.", key, *value));
    }
    return std::optional(static_cast<uint64_t>(*value));
}

Result<std::optional<double>> GgufFile::get_float(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<double>();
    const auto* value = std::get_if<double>(&entry->value);
    if (value == nullptr) return wrong_type(*entry, "a float");
    return std::optional(*value);
}

Result<std::optional<bool>> GgufFile::get_bool(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<bool>();
    const auto* value = std::get_if<bool>(&entry->value);
    if (value == nullptr) return wrong_type(*entry, "a bool");
    return std::optional(*value);
}

Result<std::optional<std::string_view>> GgufFile::get_string(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<std::string_view>();
    const auto* value = std::get_if<std::string>(&entry->value);
    if (value == nullptr) return wrong_type(*entry, "a string");
    return std::optional<std::string_view>(*value);
}

Result<const GgufArray*> GgufFile::get_array(std::string_view key, GgufType element_type) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return static_cast<const GgufArray*>(nullptr);
    const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&entry->value);
    if (array == nullptr)
        return wrong_type(*entry, fmt::format("an array of {}", gguf_type_name(element_type)));
    if ((*array)->element_type != element_type) {
        return Status(StatusCode::file_invalid,
                      fmt::format("Metadata key {} is an array of type {}, must be of {}.", key,
                                  gguf_type_name((*array)->element_type), gguf_type_name(element_type)));
    }
    return array->get();
}

}  // namespace takt
