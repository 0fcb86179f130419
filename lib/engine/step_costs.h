// What a step of few rows costs, learned from the steps that ran.
#pragma once

#include <array>
#include <cstdint>

namespace takt {

class StepCosts {
public:
    static constexpr uint32_t kMostRows = 64;  // steps with more aren't recorded

    void record(uint32_t n_rows, uint64_t ns);
    // Of a step with so many rows; between and beyond those that ran, a guess. 0: nothing ran yet.
    double ns(uint32_t n_rows) const;

private:
    std::array<double, kMostRows + 1> ns_{};  // by rows; 0: not known
    uint32_t lowest_ = 0, highest_ = 0;       // rows that are known
};

}  // namespace takt
