// e^x = 2^n e^r with |r| <= ln(2) / 2, and a Taylor series for e^r.
#include "sampler/portable_exp.h"

#include <bit>
#include <cstdint>

namespace takt {

double portable_exp(double x) {
    constexpr double kSmallest = -690.0;  // e^-690 is about 1e-300
    constexpr double kInverseLn2 = 1.44269504088896340736;
    // ln(2) in two parts; the first has trailing zeros, so that n times it is exact.
    constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
    if (!(x >= kSmallest)) return 0;
    const auto n = static_cast<int64_t>(x * kInverseLn2 - 0.5);
    const auto power = static_cast<double>(n);
    const double r = (x - power * kLn2High) - power * kLn2Low;
    double sum = 1.0 / 6227020800.0;  // 1 / 13!
    constexpr double kInverseFactorials[] = {1.0 / 479001600.0,
                                             1.0 / 39916800.0,
                                             1.0 / 3628800.0,
                                             1.0 / 362880.0,
                                             1.0 / 40320.0,
                                             1.0 / 5040.0,
                                             1.0 / 720.0,
                                             1.0 / 120.0,
                                             1.0 / 24.0,
                                             1.0 / 6.0,
                                             1.0 / 2.0,
                                             1.0,
                                             1.0};
    for (const double coefficient : kInverseFactorials) sum = sum * r + coefficient;
    return sum * std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

}  // namespace takt
