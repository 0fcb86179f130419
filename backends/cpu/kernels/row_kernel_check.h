// Holds the row and attention kernels against scalar before a model trusts them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cpu/cpu_features.h"
#include "cpu/kernels/kernel_table.h"

namespace takt::cpu {

// Runs every kernel of `rows` on a fixed small case; its bits must be those of scalar. The error names the
// first that is wrong.
Status self_test(const RowKernels& rows);

// Replaces the row kernels by those of the next slower level until they pass. `replaced` receives a sentence
// for each.
void replace_failing_row_kernels(IsaLevel level, KernelTable& table, std::vector<std::string>& replaced);

}  // namespace takt::cpu
