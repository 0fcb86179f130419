// The steps from a source's bytes to a GgufFile: header, metadata, tensor table, checks across them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gguf/checked_reader.h"
#include "gguf/gguf_reader.h"

namespace takt {

class GgufParser {
public:
    // part: which of a split model's files it must be. Only the first one says what model that is.
    explicit GgufParser(std::shared_ptr<const ByteSource> source, uint32_t part = 0);
    Result<std::shared_ptr<GgufFile>> parse();

private:
    Status read_header();
    Status read_version();
    Status read_entries();
    Status check_general_keys();
    Status check_part() const;
    Status read_alignment();
    Status read_tensors();
    Status read_tensor(uint64_t index, GgufTensor& out);
    Status read_shape(const std::string& who, GgufTensor& out);
    Status read_dtype(const std::string& who, GgufTensor& out);
    Status place_tensors();
    Status check_overlaps() const;

    std::shared_ptr<GgufFile> file_;
    const uint32_t part_;
    CheckedReader reader_;
    uint64_t n_tensors_ = 0;
    uint64_t n_entries_ = 0;
    uint64_t alignment_ = 32;  // the format's default
};

}  // namespace takt
