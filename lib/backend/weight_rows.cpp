// One read for each run of rows.
#include "backend/weight_rows.h"

#include <algorithm>

namespace takt {

Status read_rows(const WeightSource& source, const WeightDecl& weight, uint64_t first_row, uint64_t n_rows,
                 std::span<std::byte> out) {
    const uint64_t bytes = row_bytes(weight.dtype, weight.columns);
    for (uint64_t done = 0; done < n_rows;) {
        const auto row = static_cast<uint32_t>(first_row + done);
        const uint64_t n = std::min<uint64_t>(n_rows - done, weight.runs.together(row));
        TAKT_RETURN_IF_ERROR(source.read(weight.name, weight.runs.file_row(row) * bytes,
                                         out.subspan(done * bytes, n * bytes)));
        done += n;
    }
    return {};
}

}  // namespace takt
