// Reads one metadata value of any type, arrays within arrays included, with limits on all that a file could
// ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "gguf/checked_reader.h"
#include "gguf/gguf_reader.h"

namespace takt {

class GgufValueReader {
public:
    explicit GgufValueReader(CheckedReader& reader) : reader_(reader) {}

    // `key` names the value in errors. Reads the type and then the value.
    Status read(std::string_view key, GgufType& out_type, GgufValue& out_value);

private:
    Status read_type(std::string_view what, GgufType& out);
    Status read_scalar(std::string_view what, GgufType type, GgufValue& out);
    Status read_array(std::string_view what, int depth, std::shared_ptr<const GgufArray>& out);
    Status read_elements(std::string_view what, uint64_t count, int depth, GgufArray& out);
    Status read_strings(std::string_view what, uint64_t count, GgufArray& out);
    Status read_arrays(std::string_view what, uint64_t count, int depth, GgufArray& out);
    template <typename Stored, typename Kept>
    Status read_numbers(std::string_view what, uint64_t count, std::vector<Kept>& out);

    CheckedReader& reader_;
    uint32_t n_nested_ = 0;  // arrays inside arrays, of all keys so far
};

}  // namespace takt
