// A two-dimensional float32 array in NumPy's .npy format, version 1.0, written row by row.
#pragma once

#include <cstddef>
#include <string>

#include "system.h"

namespace cli {

class NpyFile {
public:
    NpyFile(const std::string& path, std::size_t rows, std::size_t columns);
    void write_row(const float* values, std::size_t columns);
    // Puts the file in its place; without it nothing is left behind.
    void commit();

private:
    OutputFile file_;
    std::size_t rows_left_, columns_;
};

}  // namespace cli
