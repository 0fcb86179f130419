// The row kernels of every ISA level that this machine has, and numbers to feed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "cpu/cpu_features.h"
#include "cpu/kernels/kernel_choice.h"

namespace takt::test {

inline std::vector<float> random_floats(size_t n, float size, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-size, size);
    std::vector<float> list(n);
    for (float& x : list) x = value(random);
    return list;
}

inline std::vector<cpu::RowKernels> all_levels() {
    std::vector<cpu::RowKernels> levels;
    for (const cpu::IsaLevel level : cpu::available_isa_levels())
        levels.push_back(cpu::make_kernel_table(level).rows);
    return levels;
}

}  // namespace takt::test
