// Whether the second of two lists of rates is faster than the first, at a stated confidence.
#pragma once

#include <cstddef>
#include <vector>

namespace cli {

enum class Verdict {
    faster,
    slower,
    no_difference,
    too_few,  // repetitions: no outcome of them could reach the confidence
};
const char* name_of(Verdict verdict);

// paired: repetition i of both was measured side by side, so what slowed one down slowed the other.
enum class Pairing { paired, independent };

struct Comparison {
    Verdict verdict = Verdict::too_few;
    Pairing pairing = Pairing::independent;  // the test that was used
    double ratio = 1;                        // second / first, Hodges-Lehmann's estimate on logarithms
    double low = 0;                          // its interval at the confidence; 0 and infinity where n is
    double high = 0;                         // too small for one
    double p_value = 1;
};

// Rates are positive. Paired lists of one length are compared by the signed-rank test if that can reach the
// confidence, all others by the rank-sum test. confidence in (0, 1). A ratio nearer to 1 than least_change is
// no difference, however sure: two engines of one process differ by where their memory lies.
Comparison compare_rates(const std::vector<double>& first, const std::vector<double>& second, Pairing pairing,
                         double confidence, double least_change = 0);

// The fewest repetitions of each with which a verdict can reach the confidence.
std::size_t least_repetitions(Pairing pairing, double confidence);

}  // namespace cli
