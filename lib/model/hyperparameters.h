// Reads "<family>.<name>" keys of a file with their limits. The first mistake is kept and every later read
// gives 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"

namespace takt {

class Hyperparameters {
public:
    Hyperparameters(const GgufFile& file, std::string family) : file_(file), family_(std::move(family)) {}

    struct Range {
        uint64_t low = 1, high = 1;
    };
    uint32_t required(std::string_view name, Range range);
    uint32_t optional(std::string_view name, uint32_t fallback, Range range);
    // One number for all layers, or an array with an entry for each.
    std::vector<uint32_t> each_layer(std::string_view name, std::optional<uint32_t> fallback,
                                     uint32_t n_layers, Range range);
    // Positive and finite.
    float required_positive(std::string_view name);
    float optional_positive(std::string_view name, float fallback);
    // 0 or absent stands for "none"; else positive and finite.
    float optional_or_zero(std::string_view name);
    std::optional<bool> flag(std::string_view name);
    std::string text(std::string_view name);
    bool has(std::string_view name) const { return file_.find(key(name)) != nullptr; }
    const GgufEntry* entry(std::string_view name) const { return file_.find(key(name)); }

    // "llama.block_count"
    std::string key(std::string_view name) const;
    void fail(StatusCode code, std::string message);
    const Status& status() const { return status_; }

private:
    std::optional<uint64_t> find_integer(std::string_view name);
    std::optional<double> find_float(std::string_view name);
    std::vector<uint32_t> entries(std::string_view name, const GgufArray& array, uint32_t n_layers,
                                  Range range);
    uint32_t in_range(std::string_view name, uint64_t value, Range range);
    float positive(std::string_view name, double value);
    void fail_missing(std::string_view name);

    const GgufFile& file_;
    std::string family_;
    Status status_;
};

}  // namespace takt
