// Reads rows of a weight from its source, wherever they lie in the file's tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/weight_source.h"
#include "base/status.h"
#include "program/program.h"

namespace takt {

// out holds n_rows rows in the file's type.
Status read_rows(const WeightSource& source, const WeightDecl& weight, uint64_t first_row, uint64_t n_rows,
                 std::span<std::byte> out);

}  // namespace takt
