// The chain. Sums run in one order (by rank, or by id where every token takes part), in double.
#include "sampler/sampler_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sampler/portable_exp.h"
#include "sampler/random.h"

namespace takt {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr size_t kFirstBlock = 128;  // candidates that top-p ranks first; a nucleus is rarely wider

bool ranks_before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// Stays finite: a large finite bias is no infinity.
float clamp_to_float(double value) {
    return static_cast<float>(std::clamp(value, -double{kLargest}, double{kLargest}));
}

Status check_finite(std::span<const float> logits) {
    for (size_t id = 0; id < logits.size(); ++id) {
        if (std::isfinite(logits[id])) continue;
        return Status(StatusCode::logits_not_finite,
                      fmt::format("The logit of token {} is {}.", id, logits[id]));
    }
    return {};
}

// The k first in rank, sorted: a scan with a heap of k, so that a large vocabulary isn't sorted.
void keep_top_k(std::span<const float> logits, size_t k, std::vector<Candidate>& candidates) {
    for (size_t id = 0; id < logits.size(); ++id) {
        const Candidate candidate{logits[id], static_cast<int32_t>(id)};
        if (candidates.size() < k) {
            candidates.push_back(candidate);
            std::push_heap(candidates.begin(), candidates.end(), ranks_before);
        } else if (ranks_before(candidate, candidates.front())) {
            std::pop_heap(candidates.begin(), candidates.end(), ranks_before);
            candidates.back() = candidate;
            std::push_heap(candidates.begin(), candidates.end(), ranks_before);
        }
    }
    std::sort_heap(candidates.begin(), candidates.end(), ranks_before);
}

void weigh(float highest, double temperature, const std::vector<Candidate>& candidates,
           std::vector<double>& weights) {
    weights.clear();
    for (const Candidate& c : candidates)
        weights.push_back(portable_exp((double{c.logit} - double{highest}) / temperature));
}

// Keeps the shortest run of first ranks that holds top_p of all probability; at least one. Ranks only as far
// as needed.
void keep_nucleus(float highest, double top_p, bool sorted, std::vector<Candidate>& candidates,
                  std::vector<double>& weights) {
    weigh(highest, 1, candidates, weights);
    double all = 0;
    for (const double w : weights) all += w;
    const double wanted = top_p * all;
    double sum = 0;
    size_t n_ranked = sorted ? candidates.size() : 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (i == n_ranked) {
            n_ranked = std::min(candidates.size(), std::max(kFirstBlock, n_ranked * 8));
            const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(i);
            const auto to = candidates.begin() + static_cast<std::ptrdiff_t>(n_ranked);
            if (to != candidates.end()) std::nth_element(from, to, candidates.end(), ranks_before);
            std::sort(from, to, ranks_before);
        }
        sum += portable_exp(double{candidates[i].logit} - double{highest});
        if (sum >= wanted) {
            candidates.resize(i + 1);
            return;
        }
    }
}

void keep_min_p(float highest, double min_p, std::vector<Candidate>& candidates) {
    std::erase_if(candidates, [&](const Candidate& c) {
        return portable_exp(double{c.logit} - double{highest}) < min_p;
    });
}

}  // namespace

SamplerScratch::SamplerScratch(uint32_t vocab_size) : logits(vocab_size), counts(vocab_size) {
    candidates.reserve(vocab_size);
    weights.reserve(vocab_size);
}

SamplerChain::SamplerChain(SamplerOptions options, uint32_t vocab_size)
    : options_(std::move(options)), vocab_size_(vocab_size) {}

Result<int32_t> SamplerChain::sample(std::span<const float> logits, std::span<const int32_t> history,
                                     uint64_t position, SamplerScratch& scratch) const {
    TAKT_RETURN_IF_ERROR(check_finite(logits));
    if (options_.has_penalties() || !options_.logit_bias.empty()) {
        TAKT_RETURN_IF_ERROR(change_logits(logits, history, scratch));
        logits = scratch.logits;
    }
    const auto best = std::max_element(logits.begin(), logits.end());  // the first of equals
    if (*best == -INFINITY) {
        return Status(StatusCode::no_token_allowed,
                      fmt::format("No token is allowed: logit_bias forbids all {} of them.", vocab_size_));
    }
    if (options_.is_greedy()) return static_cast<int32_t>(best - logits.begin());
    return draw(logits, *best, position, scratch);
}

Status SamplerChain::change_logits(std::span<const float> logits, std::span<const int32_t> history,
                                   SamplerScratch& scratch) const {
    if (logits.size() != scratch.logits.size()) {
        return Status(StatusCode::internal, fmt::format("{} logits for a vocabulary of {} tokens.",
                                                        logits.size(), scratch.logits.size()));
    }
    std::copy(logits.begin(), logits.end(), scratch.logits.begin());
    for (const auto& [id, value] : options_.logit_bias) {
        float& logit = scratch.logits[static_cast<size_t>(id)];
        if (logit == -INFINITY || value == -INFINITY) {
            logit = -INFINITY;
        } else {
            logit = clamp_to_float(double{logit} + double{value});
        }
    }
    if (options_.has_penalties()) penalize(history, scratch);
    return {};
}

void SamplerChain::penalize(std::span<const int32_t> history, SamplerScratch& scratch) const {
    const auto window = history.last(std::min<size_t>(history.size(), options_.penalty_tokens));
    for (const int32_t id : window) ++scratch.counts[static_cast<size_t>(id)];
    for (const int32_t id : window) {
        uint32_t& count = scratch.counts[static_cast<size_t>(id)];
        if (count == 0) continue;  // penalized at an earlier occurrence
        float& logit = scratch.logits[static_cast<size_t>(id)];
        if (logit != -INFINITY) {
            const double penalty = options_.repetition_penalty;
            double changed = logit > 0 ? logit / penalty : logit * penalty;
            changed -= double{options_.frequency_penalty} * count + double{options_.presence_penalty};
            logit = clamp_to_float(changed);
        }
        count = 0;
    }
}

int32_t SamplerChain::draw(std::span<const float> logits, float highest, uint64_t position,
                           SamplerScratch& scratch) const {
    std::vector<Candidate>& candidates = scratch.candidates;
    std::vector<double>& weights = scratch.weights;
    candidates.clear();
    const bool cut_to_k = options_.top_k > 0 && options_.top_k < logits.size();
    if (cut_to_k) {
        keep_top_k(logits, options_.top_k, candidates);
    } else {
        for (size_t id = 0; id < logits.size(); ++id)
            candidates.push_back({logits[id], static_cast<int32_t>(id)});
    }
    if (options_.top_p < 1) keep_nucleus(highest, options_.top_p, cut_to_k, candidates, weights);
    if (options_.min_p > 0) keep_min_p(highest, options_.min_p, candidates);
    weigh(highest, options_.temperature, candidates, weights);
    double all = 0;
    for (const double w : weights) all += w;
    const double drawn = random_unit(options_.seed, position) * all;
    double sum = 0;
    size_t last = 0;  // rounding may leave `drawn` at the very end: then the last token with any weight
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (weights[i] == 0) continue;
        last = i;
        sum += weights[i];
        if (drawn < sum) break;
    }
    return candidates[last].id;
}

}  // namespace takt
