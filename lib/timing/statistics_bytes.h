// Statistics as bytes, for other processes and later days.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "timing/statistics.h"

namespace takt {

std::vector<std::byte> export_statistics(const Statistics& statistics, const Origin& origin);
// Bytes may come from anywhere: state_corrupt for what is no statistics, cut or changed, state_mismatch for
// another version.
Status import_statistics(std::span<const std::byte> bytes, Statistics& statistics, Origin& origin);

}  // namespace takt
