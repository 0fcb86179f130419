// Parses a GGUF file's head. Every number of the file is held against what the file can hold before it is
// used.
#include "gguf/gguf_parser.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/checked_math.h"
#include "gguf/gguf_keys.h"
#include "gguf/gguf_value_reader.h"

namespace takt {
namespace {

// The least that one key and value (empty key, u8) or one tensor info (empty name, no dimensions) takes in
// the file.
constexpr uint64_t kLeastEntryBytes = 8 + 4 + 1;
constexpr uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;
// Limits of takt's own, far beyond any known file, so that a huge hostile one cannot fill the memory.
constexpr uint64_t kMostEntries = 1u << 16;
constexpr uint64_t kMostTensors = 1u << 20;
constexpr uint64_t kLongestKey = 65535;  // the format's
constexpr uint64_t kLongestName = 64;    // the format's
constexpr uint32_t kMostDimensions = 4;
constexpr uint64_t kLargestAlignment = uint64_t{1} << 20;

Status invalid(std::string text) {
    return Status(StatusCode::file_invalid, std::move(text));
}

// Only printable ASCII: names go into messages, and into other languages' strings.
Status check_name(std::string_view what, std::string_view name) {
    if (name.empty()) return invalid(fmt::format("{} is empty.", what));
    for (size_t i = 0; i < name.size(); ++i) {
        const unsigned byte = static_cast<unsigned char>(name[i]);
        if (byte >= 0x20 && byte < 0x7f) continue;
        return invalid(fmt::format("{} is invalid: {} 0x{:02x} at position {} is not printable ASCII.", what,
                                   byte == 0 ? "an embedded zero byte (NUL)" : "byte", byte, i));
    }
    return {};
}

template <typename Item, typename NameOf>
std::vector<uint32_t> sorted_order(const std::vector<Item>& items, NameOf name_of) {
    std::vector<uint32_t> order(items.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return name_of(items[a]) < name_of(items[b]); });
    return order;
}

std::string shape_text(const GgufTensor& tensor) {
    return fmt::format("[{}]", fmt::join(tensor.dims, tensor.dims + tensor.n_dims, ", "));
}

}  // namespace

GgufParser::GgufParser(std::shared_ptr<const ByteSource> source, uint32_t part)
    : file_(std::make_shared<GgufFile>()), part_(part), reader_(*source) {
    file_->parts_.push_back(std::move(source));
}

Result<std::shared_ptr<GgufFile>> GgufParser::parse() {
    TAKT_RETURN_IF_ERROR(read_header());
    TAKT_RETURN_IF_ERROR(read_entries());
    TAKT_RETURN_IF_ERROR(check_general_keys());
    TAKT_RETURN_IF_ERROR(read_tensors());
    file_->fingerprint_ = reader_.fingerprint();
    TAKT_RETURN_IF_ERROR(place_tensors());
    return std::move(file_);
}

Status GgufParser::read_header() {
    if (reader_.left() == 0) return Status(StatusCode::file_truncated, "The file is empty.");
    char magic[4] = {};
    TAKT_RETURN_IF_ERROR(reader_.read("The magic", std::as_writable_bytes(std::span(magic))));
    const std::string_view found(magic, sizeof(magic));
    if (found == "vers")
        return invalid("The magic is \"vers\": this is a Git LFS pointer, not the model that it stands for.");
    if (found == "tjgg" || found == "fmgg" || found == "lmgg") {
        return Status(StatusCode::file_unsupported, "The magic is that of a GGML file from before GGUF.");
    }
    if (found != "GGUF") {
        uint32_t number = 0;
        std::memcpy(&number, magic, sizeof(number));
        return invalid(fmt::format("The magic is 0x{:08x}, not \"GGUF\": this is not a GGUF file.", number));
    }
    TAKT_RETURN_IF_ERROR(read_version());
    TAKT_RETURN_IF_ERROR(reader_.read_number("The tensor count", n_tensors_));
    TAKT_RETURN_IF_ERROR(reader_.read_number("The count of metadata keys", n_entries_));
    if (n_tensors_ > reader_.left() / kLeastTensorBytes || n_tensors_ > kMostTensors) {
        return invalid(fmt::format("The tensor count {} exceeds what {} bytes can hold, or takt's limit {}.",
                                   n_tensors_, reader_.left(), kMostTensors));
    }
    if (n_entries_ > reader_.left() / kLeastEntryBytes || n_entries_ > kMostEntries) {
        return invalid(
            fmt::format("The count of metadata keys {} exceeds what {} bytes can hold, or takt's limit {}.",
                        n_entries_, reader_.left(), kMostEntries));
    }
    return {};
}

Status GgufParser::read_version() {
    uint32_t version = 0;
    TAKT_RETURN_IF_ERROR(reader_.read_number("The GGUF version", version));
    if (version != 0 && (version & 0xffffu) == 0) {
        return Status(
            StatusCode::file_unsupported,
            fmt::format("The file is big-endian (its version reads 0x{:08x}); takt reads little-endian.",
                        version));
    }
    if (version != 2 && version != 3) {
        return Status(StatusCode::file_unsupported,
                      fmt::format("The GGUF version is {}; takt reads 2 and 3.", version));
    }
    file_->version_ = version;
    return {};
}

Status GgufParser::read_entries() {
    GgufValueReader values(reader_);
    std::vector<GgufEntry>& entries = file_->entries_;
    for (uint64_t i = 0; i < n_entries_; ++i) {
        GgufEntry entry;
        const std::string who = fmt::format("Name of metadata key {}", i);
        TAKT_RETURN_IF_ERROR(reader_.read_string(who, kLongestKey, entry.key));
        TAKT_RETURN_IF_ERROR(check_name(who, entry.key));
        TAKT_RETURN_IF_ERROR(values.read(fmt::format("Metadata key {}", entry.key), entry.type, entry.value));
        entries.push_back(std::move(entry));
    }
    file_->entry_order_ =
        sorted_order(entries, [](const GgufEntry& entry) -> std::string_view { return entry.key; });
    const auto twin =
        std::adjacent_find(file_->entry_order_.begin(), file_->entry_order_.end(),
                           [&](uint32_t a, uint32_t b) { return entries[a].key == entries[b].key; });
    if (twin != file_->entry_order_.end()) {
        return invalid(fmt::format("Metadata key {} is a duplicate: given twice.", entries[*twin].key));
    }
    return {};
}

Status GgufParser::check_general_keys() {
    TAKT_RETURN_IF_ERROR(check_part());
    if (part_ != 0) return read_alignment();
    const Result<std::optional<std::string_view>> architecture = file_->get_string(gguf_keys::kArchitecture);
    if (!architecture.ok()) return architecture.status();
    const Result<std::optional<std::string_view>> type = file_->get_string(gguf_keys::kType);
    if (!type.ok()) return type.status();
    // Importance matrices are GGUF files of no architecture.
    if (!*architecture && type->value_or("model") != "imatrix")
        return invalid(fmt::format("Metadata key {} is missing.", gguf_keys::kArchitecture));
    return read_alignment();
}

Status GgufParser::check_part() const {
    const Result<std::optional<uint64_t>> number = file_->get_uint(gguf_keys::kSplitNumber);
    if (!number.ok()) return number.status();
    const uint64_t found = number->value_or(0);
    if (found == part_) return {};
    if (part_ == 0) {
        return Status(
            StatusCode::file_unsupported,
            fmt::format("{} is {}: this is part {} of a split model; open the first part, which finds "
                        "the others.",
                        gguf_keys::kSplitNumber, found, found + 1));
    }
    return invalid(fmt::format("{} is {}: this is part {} of a split model, not part {} as its name says.",
                               gguf_keys::kSplitNumber, found, found + 1, part_ + 1));
}

Status GgufParser::read_alignment() {
    const Result<std::optional<uint64_t>> alignment = file_->get_uint(gguf_keys::kAlignment);
    if (!alignment.ok()) return alignment.status();
    if (!*alignment) return {};
    alignment_ = **alignment;
    if (alignment_ == 0 || (alignment_ & (alignment_ - 1)) != 0) {
        return invalid(fmt::format("{} is {}, not a power of two.", gguf_keys::kAlignment, alignment_));
    }
    if (alignment_ > kLargestAlignment) {
        return invalid(
            fmt::format("{} is {}, which exceeds {}.", gguf_keys::kAlignment, alignment_, kLargestAlignment));
    }
    return {};
}

Status GgufParser::read_tensors() {
    std::vector<GgufTensor>& tensors = file_->tensors_;
    for (uint64_t i = 0; i < n_tensors_; ++i) {
        GgufTensor tensor;
        TAKT_RETURN_IF_ERROR(read_tensor(i, tensor));
        tensors.push_back(std::move(tensor));
    }
    file_->tensor_order_ =
        sorted_order(tensors, [](const GgufTensor& tensor) -> std::string_view { return tensor.name; });
    const auto twin =
        std::adjacent_find(file_->tensor_order_.begin(), file_->tensor_order_.end(),
                           [&](uint32_t a, uint32_t b) { return tensors[a].name == tensors[b].name; });
    if (twin != file_->tensor_order_.end()) {
        return invalid(fmt::format("Tensor {} is a duplicate: given twice.", tensors[*twin].name));
    }
    return {};
}

Status GgufParser::read_tensor(uint64_t index, GgufTensor& out) {
    const std::string name_of = fmt::format("Name of tensor {}", index);
    TAKT_RETURN_IF_ERROR(reader_.read_string(name_of, kLongestName, out.name));
    TAKT_RETURN_IF_ERROR(check_name(name_of, out.name));
    const std::string who = fmt::format("Tensor {}", out.name);
    TAKT_RETURN_IF_ERROR(read_shape(who, out));
    TAKT_RETURN_IF_ERROR(read_dtype(who, out));
    return reader_.read_number(fmt::format("{}: offset", who), out.offset);
}

Status GgufParser::read_shape(const std::string& who, GgufTensor& out) {
    const std::string what = fmt::format("{}: shape", who);
    TAKT_RETURN_IF_ERROR(reader_.read_number(what, out.n_dims));
    if (out.n_dims < 1 || out.n_dims > kMostDimensions) {
        return invalid(
            fmt::format("{}: {} dimensions; takt reads 1 to {}.", who, out.n_dims, kMostDimensions));
    }
    for (uint32_t i = 0; i < out.n_dims; ++i) TAKT_RETURN_IF_ERROR(reader_.read_number(what, out.dims[i]));
    // No type stores an element in less than a bit, which bounds the shape before the type is known.
    uint64_t n_elements = 1;
    for (uint32_t i = 0; i < out.n_dims; ++i) {
        if (out.dims[i] == 0)
            return invalid(fmt::format("{} has dimension 0 in its shape {}.", who, shape_text(out)));
        const std::optional<uint64_t> product = checked_mul(n_elements, out.dims[i]);
        if (!product || *product / 8 > file_->parts_.front()->size_bytes()) {
            return invalid(fmt::format("{}: shape {} exceeds the size of the file, {} bytes.", who,
                                       shape_text(out), file_->parts_.front()->size_bytes()));
        }
        n_elements = *product;
    }
    return {};
}

Status GgufParser::read_dtype(const std::string& who, GgufTensor& out) {
    uint32_t id = 0;
    TAKT_RETURN_IF_ERROR(reader_.read_number(fmt::format("{}: type", who), id));
    const DTypeInfo* info = find_dtype(id);
    if (info == nullptr) {
        const std::string_view name = foreign_dtype_name(id);
        return Status(StatusCode::file_unsupported,
                      name.empty()
                          ? fmt::format("{} has type {}, which takt does not know.", who, id)
                          : fmt::format("{} has type {} ({}), which takt does not read.", who, name, id));
    }
    out.dtype = info->dtype;
    if (out.dims[0] % info->block_elements != 0) {
        return invalid(fmt::format("{}: rows of {} elements are no multiple of the {} in a block of type {}.",
                                   who, out.dims[0], info->block_elements, info->name));
    }
    std::optional<uint64_t> bytes = checked_mul(out.dims[0] / info->block_elements, info->block_bytes);
    for (uint32_t i = 1; bytes && i < out.n_dims; ++i) bytes = checked_mul(*bytes, out.dims[i]);
    if (!bytes)
        return invalid(fmt::format("{}: the size of shape {} overflows 64 bits.", who, shape_text(out)));
    out.size_bytes = *bytes;
    return {};
}

// Offsets in the file count from the data section; takt keeps them from the start of the source.
Status GgufParser::place_tensors() {
    const uint64_t size = file_->parts_.front()->size_bytes();
    const std::optional<uint64_t> data_start = checked_align_up(reader_.position(), alignment_);
    for (GgufTensor& tensor : file_->tensors_) {
        if (tensor.offset % alignment_ != 0) {
            return invalid(fmt::format("Tensor {}: offset {} is no multiple of the alignment {}.",
                                       tensor.name, tensor.offset, alignment_));
        }
        const std::optional<uint64_t> start =
            data_start ? checked_add(*data_start, tensor.offset) : std::nullopt;
        const std::optional<uint64_t> end = start ? checked_add(*start, tensor.size_bytes) : std::nullopt;
        if (!end)
            return invalid(
                fmt::format("Tensor {}: offset {} overflows 64 bits.", tensor.name, tensor.offset));
        if (*end > size) {
            return Status(
                past_end_code(tensor.offset),
                fmt::format(
                    "Tensor {}: its {} bytes at offset {} reach past the end of file: {} of {} bytes.",
                    tensor.name, tensor.size_bytes, tensor.offset, *end, size));
        }
        tensor.offset = *start;
    }
    return check_overlaps();
}

// The format has no shared data; two tensors in one place are a damaged or forged table.
Status GgufParser::check_overlaps() const {
    std::vector<const GgufTensor*> by_place;
    for (const GgufTensor& tensor : file_->tensors_) by_place.push_back(&tensor);
    std::sort(by_place.begin(), by_place.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < by_place.size(); ++i) {
        const GgufTensor& before = *by_place[i - 1];
        const GgufTensor& after = *by_place[i];
        if (after.offset >= before.offset + before.size_bytes) continue;
        return invalid(fmt::format("Tensor {} at offset {} overlaps tensor {} of {} bytes at offset {}.",
                                   after.name, after.offset, before.name, before.size_bytes, before.offset));
    }
    return {};
}

}  // namespace takt
