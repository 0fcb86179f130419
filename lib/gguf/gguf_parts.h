// Models split over several files, NAME-00001-of-00003.gguf and so on: the first is opened, the others are
// found beside it.
#pragma once

#include <memory>
#include <string>

#include "gguf/gguf_reader.h"

namespace takt {

// One number of two, whose order matters.
inline uint64_t mix_hash(uint64_t a, uint64_t b) {
    return (a ^ (b + 0x9E3779B97F4A7C15ull + (a << 6) + (a >> 2))) * 0x100000001B3ull;
}

class GgufParts {
public:
    explicit GgufParts(GgufFile& first) : file_(first) {}
    // Adds the tensors of all other parts, if there are some. Errors name the part.
    Status open_rest();

private:
    Status read_count(uint64_t& out_count) const;
    // The path up to the part's number, or why the others can't be found by it.
    Result<std::string> stem(uint64_t n_parts) const;
    Status add_part(const std::string& path, uint32_t part, uint64_t n_parts);
    Status check_tensors();

    GgufFile& file_;
};

}  // namespace takt
