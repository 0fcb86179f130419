// Magic, version, length of the head (two bytes, little endian), the head padded so that data begins at a
// multiple of 64.
#include "npy.h"

#include <bit>

#include <fmt/format.h>

#include "failure.h"

namespace cli {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

std::string head(std::size_t rows, std::size_t columns) {
    constexpr std::size_t kBefore = 10, kAlignment = 64;
    std::string text =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
    while ((kBefore + text.size() + 1) % kAlignment != 0) text += ' ';
    text += '\n';
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(text.size() & 0xFF);
    bytes += static_cast<char>(text.size() >> 8);
    return bytes + text;
}

}  // namespace

NpyFile::NpyFile(const std::string& path, std::size_t rows, std::size_t columns)
    : file_(path), rows_left_(rows), columns_(columns) {
    const std::string bytes = head(rows, columns);
    file_.write(bytes.data(), bytes.size());
}

void NpyFile::write_row(const float* values, std::size_t columns) {
    if (columns != columns_ || rows_left_ == 0)
        throw Failure(fmt::format("A row of {} scores came where {} were due.", columns, columns_));
    file_.write(values, columns * sizeof(float));
    --rows_left_;
}

void NpyFile::commit() {
    if (rows_left_ != 0) throw Failure(fmt::format("{} rows are missing at the end.", rows_left_));
    file_.commit();
}

}  // namespace cli
