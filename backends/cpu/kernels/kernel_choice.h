// Makes the table of kernels for an ISA level and checks it with known answers before a model trusts it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cpu/cpu_features.h"
#include "cpu/kernels/kernel_table.h"

namespace takt::cpu {

// The best kernels up to `level` of a machine that has `levels`, in any order.
KernelTable make_kernel_table(IsaLevel level, std::span<const IsaLevel> levels);
// The same of this machine.
KernelTable make_kernel_table(IsaLevel level);

// Runs every product kernel and the quantizer on a fixed small case and compares with scalar, in a few
// milliseconds. The error names the first kernel that is wrong.
Status self_test(const KernelTable& table);

// make_kernel_table with every entry that fails its self-test replaced by the next slower level's (of this
// machine) that passes. `replaced` receives a sentence for each.
KernelTable make_checked_kernel_table(IsaLevel level, std::vector<std::string>& replaced);

}  // namespace takt::cpu
