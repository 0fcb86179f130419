// A model file in another type: read by positioned reads, encoded by all threads, written whole or not at
// all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/thread_pool.h"
#include "quantize/importance.h"

namespace takt {

struct QuantizeOptions {
    std::string input, output;  // paths; the input may be the first part of a split model
    std::string type;           // see find_quantize_type()
    bool requantize = false;    // take inputs that are quantized already, and lose twice
    bool pure = false;          // no rules for single tensors
    const Importance* importance = nullptr;
    // Bytes of the input done and in all; false asks to stop, which ends with `cancelled`. On the calling
    // thread.
    std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

struct QuantizeResult {
    uint64_t input_bytes = 0, output_bytes = 0;  // of the files
    uint32_t n_tensors = 0, n_quantized = 0;     // in all; in a type they didn't have
    uint32_t n_fallbacks = 0;  // not in the type they should have: rows that aren't whole blocks
};

// Nothing is left of the output on any failure, and what stood there stays.
Result<QuantizeResult> quantize_file(const QuantizeOptions& options, ThreadPool& pool);

}  // namespace takt
