// Reads a GGUF v2/v3 file's metadata and tensor table into owned memory; every number is checked before it is
// used. A model split over files is one GgufFile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "tensor/dtype.h"

namespace takt {

struct GgufArray;
// Integers of every width are widened: unsigned to uint64_t, signed to int64_t. f32 and f64 become double.
using GgufValue =
    std::variant<uint64_t, int64_t, double, bool, std::string, std::shared_ptr<const GgufArray>>;

enum class GgufType : uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};
std::string_view gguf_type_name(GgufType type);

// One of the vectors is filled, as element_type says (nested arrays in `arrays`).
struct GgufArray {
    GgufType element_type{};
    std::vector<uint64_t> unsigneds;
    std::vector<int64_t> signeds;
    std::vector<double> floats;
    std::vector<uint8_t> booleans;
    std::vector<std::string> strings;
    std::vector<std::shared_ptr<const GgufArray>> arrays;
    size_t size() const;
};

struct GgufEntry {
    std::string key;
    GgufType type{};
    GgufValue value;
};

struct GgufTensor {
    std::string name;
    DType dtype{};
    uint32_t n_dims = 0;
    uint64_t dims[4] = {1, 1, 1, 1};  // dims[0] is the contiguous one (columns), dims[1] the rows
    uint32_t part = 0;                // the file it lies in, of a model split over several
    uint64_t offset = 0;              // absolute, in that part
    uint64_t size_bytes = 0;
};

class GgufFile {
public:
    // Where the source is the first of several parts (split.count), the others are opened beside it: they
    // need a source opened by its path.
    static Result<std::shared_ptr<const GgufFile>> open(std::shared_ptr<const ByteSource> source);

    uint32_t version() const { return version_; }
    const std::vector<GgufEntry>& entries() const { return entries_; }
    const std::vector<GgufTensor>& tensors() const { return tensors_; }
    const GgufEntry* find(std::string_view key) const;  // nullptr if absent
    const GgufTensor* find_tensor(std::string_view name) const;
    const ByteSource& source() const { return *parts_.front(); }  // the first part
    size_t n_parts() const { return parts_.size(); }
    const std::string& part_name(size_t part) const { return parts_[part]->name(); }
    uint64_t size_bytes() const;  // of all parts
    // When it was last changed, of one file; of several a number that changes with each of theirs.
    std::optional<int64_t> modified_ns() const;
    // 64-bit hash of the metadata and tensor tables as they stand in the files: tells models apart.
    uint64_t fingerprint() const { return fingerprint_; }
    // Thread-safe. The range must lie within the tensor.
    Status read(const GgufTensor& tensor, uint64_t offset, std::span<std::byte> out) const;

    // Typed look-ups. Absent: an empty optional inside an ok result. Wrong type or out of range: an error
    // that names key, type and value.
    Result<std::optional<uint64_t>> get_uint(
        std::string_view key) const;  // any integer type, negative refused
    Result<std::optional<double>> get_float(std::string_view key) const;
    Result<std::optional<bool>> get_bool(std::string_view key) const;
    Result<std::optional<std::string_view>> get_string(std::string_view key) const;
    Result<const GgufArray*> get_array(std::string_view key,
                                       GgufType element_type) const;  // nullptr if absent

private:
    friend class GgufParser;
    friend class GgufParts;
    std::vector<std::shared_ptr<const ByteSource>> parts_;  // never empty
    uint32_t version_ = 0;
    uint64_t fingerprint_ = 0;
    std::vector<GgufEntry> entries_;
    std::vector<GgufTensor> tensors_;
    std::vector<uint32_t> entry_order_;   // indices sorted by key
    std::vector<uint32_t> tensor_order_;  // indices sorted by name
};

}  // namespace takt
