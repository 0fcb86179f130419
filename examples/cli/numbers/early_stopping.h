// LoadGen's early stopping: how many queries show, at 99 % confidence, that a percentile is within its bound.
#pragma once

#include <cstdint>
#include <optional>

namespace cli {

// The fewest queries that suffice when n_over of them are over the bound: the least n with
// P(X <= n_over) < 0.01 for X of the binomial distribution of n draws with probability 1 - percentile.
// percentile in (0, 1).
uint64_t early_stopping_queries(uint64_t n_over, double percentile);

// Where there is no bound: the sample that is an estimate of the percentile which holds at that confidence,
// counted from the largest (1 is the largest itself); nothing if there are too few queries.
std::optional<uint64_t> early_stopping_rank(uint64_t n_queries, double percentile);

}  // namespace cli
