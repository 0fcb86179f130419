// Ratios as differences of logarithms.
#include "numbers/comparison.h"

#include <algorithm>
#include <cmath>

#include "numbers/rank_tests.h"

namespace cli {
namespace {

bool within(double p_value, double confidence) {
    return p_value <= (1 - confidence) * (1 + 1e-9);
}

std::vector<double> logarithms(const std::vector<double>& rates) {
    std::vector<double> logs(rates.size());
    std::transform(rates.begin(), rates.end(), logs.begin(), [](double rate) { return std::log(rate); });
    return logs;
}

}  // namespace

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::faster:
            return "faster";
        case Verdict::slower:
            return "slower";
        case Verdict::no_difference:
            return "no difference";
        case Verdict::too_few:
            break;
    }
    return "too few repetitions";
}

Comparison compare_rates(const std::vector<double>& first, const std::vector<double>& second, Pairing pairing,
                         double confidence, double least_change) {
    const std::vector<double> a = logarithms(first), b = logarithms(second);
    const bool pairs = pairing == Pairing::paired && a.size() == b.size() &&
                       within(least_signed_rank_p(a.size()), confidence);
    RankTest test;
    if (pairs) {
        std::vector<double> differences(a.size());
        std::transform(b.begin(), b.end(), a.begin(), differences.begin(), std::minus<>());
        test = signed_rank_test(differences, confidence);
    } else {
        test = rank_sum_test(a, b, confidence);
    }
    Comparison result;
    result.pairing = pairs ? Pairing::paired : Pairing::independent;
    result.ratio = std::exp(test.estimate);
    result.low = std::exp(test.low);
    result.high = std::exp(test.high);
    result.p_value = test.p_value;
    if (!pairs && !within(least_rank_sum_p(a.size(), b.size()), confidence)) return result;
    if (!within(test.p_value, confidence) || std::abs(test.estimate) < std::log1p(least_change)) {
        result.verdict = Verdict::no_difference;
    } else {
        result.verdict = test.estimate > 0 ? Verdict::faster : Verdict::slower;
    }
    return result;
}

std::size_t least_repetitions(Pairing pairing, double confidence) {
    std::size_t n = 1;
    while (!within(pairing == Pairing::paired ? least_signed_rank_p(n) : least_rank_sum_p(n, n), confidence))
        ++n;
    return n;
}

}  // namespace cli
