// The head of a GGUF v3 file: metadata and the table of tensors, whose data the caller puts where it says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf_reader.h"

namespace takt {

class GgufWriter {
public:
    // In place of the entry of that key, or as the last.
    void set(GgufEntry entry);
    void set_text(std::string_view key, std::string_view value);
    void set_u32(std::string_view key, uint32_t value);
    void set_texts(std::string_view key, std::vector<std::string> values);
    // Data lies in the order of the calls. Only name, type and shape are read.
    void add_tensor(const GgufTensor& tensor);

    // Settles all places; nothing may be added afterwards. Only general.alignment of the metadata counts
    // here.
    std::vector<std::byte> head();
    // With their offsets in the file and sizes.
    const std::vector<GgufTensor>& tensors() const { return tensors_; }
    uint64_t file_bytes() const { return file_bytes_; }

private:
    uint64_t alignment() const;

    std::vector<GgufEntry> entries_;
    std::vector<GgufTensor> tensors_;
    uint64_t file_bytes_ = 0;
};

}  // namespace takt
