// What this machine's memory and another library's products reach, measured with takt's own threads.
#pragma once

#include "backend/backend.h"
#include "cpu/kernels/kernel_table.h"

namespace takt::cpu {

// out_of_memory if the working set can't be allocated.
Result<DeviceLimits> measure_limits(const KernelTable& kernels, ThreadPool& pool, uint64_t working_set_bytes,
                                    uint32_t n_rows, ProductShape product);

}  // namespace takt::cpu
