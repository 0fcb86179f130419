// How much each column of each matrix matters: the mean of its inputs' squares over some text, as a GGUF file
// of the usual kind (NAME.in_sum2 and NAME.counts).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"

namespace takt {

class Importance {
public:
    // Of one matrix, or of one for each expert: columns of the first, of the second …
    struct Sums {
        std::vector<double> squares;  // [n_matrices][n_columns]
        std::vector<double> counts;   // [n_matrices]: rows of input that were added up
    };

    static Result<Importance> read(const std::string& path);
    // The text it was measured on: so many windows of so many tokens.
    Status write(const std::string& path, uint32_t window_tokens, uint32_t n_windows) const;

    void add_row(std::string_view name, std::span<const float> row);
    bool empty() const { return sums_.empty(); }
    const std::map<std::string, Sums, std::less<>>& sums() const { return sums_; }
    // Means for a matrix of a tensor of n_matrices: empty if the tensor isn't in here. The error names what
    // doesn't fit its shape.
    Result<std::vector<float>> means(const GgufTensor& tensor) const;

private:
    std::map<std::string, Sums, std::less<>> sums_;  // by the tensor's name
};

}  // namespace takt
