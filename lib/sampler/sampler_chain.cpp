// The chain. Sums run in one order, by rank or by id. A pass over the maxima of blocks tells which of them
// hold candidates; only a draw from the whole vocabulary and top-p weigh every token.
#include "sampler/sampler_chain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "sampler/logit_blocks.h"
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

Status not_finite(std::span<const float> logits) {
    const auto bad = std::ranges::find_if(logits, [](float x) { return !std::isfinite(x); });
    return Status(StatusCode::logits_not_finite,
                  fmt::format("The logit of token {} is {}.", bad - logits.begin(), *bad));
}

std::span<const float> block_of(std::span<const float> logits, size_t block) {
    return logits.subspan(block * kLogitBlock, std::min(kLogitBlock, logits.size() - block * kLogitBlock));
}

// Appends, by id, the tokens whose logit is at least `least` and below `end`.
void collect(std::span<const float> logits, std::span<const float> maxima, float least, float end,
             std::vector<Candidate>& candidates) {
    for (size_t block = 0; block < maxima.size(); ++block) {
        if (maxima[block] < least) continue;
        auto id = static_cast<int32_t>(block * kLogitBlock);
        for (const float logit : block_of(logits, block)) {
            if (logit >= least && logit < end) candidates.push_back({logit, id});
            ++id;
        }
    }
}

// The k first in rank, sorted. The k-th highest of the blocks' maxima is at most the k-th highest logit.
void keep_top_k(std::span<const float> logits, std::span<const float> maxima, size_t k,
                std::vector<float>& ranked, std::vector<Candidate>& candidates) {
    float least = -INFINITY;
    if (k <= maxima.size()) {
        ranked.assign(maxima.begin(), maxima.end());
        const auto kth = ranked.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(ranked.begin(), kth, ranked.end(), std::greater<>());
        least = *kth;
    }
    collect(logits, maxima, least, INFINITY, candidates);
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(k, candidates.size()));
    std::partial_sort(candidates.begin(), end, candidates.end(), ranks_before);
    candidates.erase(end, candidates.end());
}

template <typename Weight>
double sum_of(std::span<const Weight> weights) {
    double all = 0;
    for (const Weight weight : weights) all += double{weight};
    return all;
}

// Returns their sum.
double weigh(float highest, double temperature, const std::vector<Candidate>& candidates,
             std::vector<double>& weights) {
    weights.clear();
    for (const Candidate& c : candidates)
        weights.push_back(portable_exp((double{c.logit} - double{highest}) / temperature));
    return sum_of<double>(weights);
}

// The first weight at which the sum, which begins with `before`, passes `drawn`; `before` becomes the sum of
// those ahead of it. Rounding may leave `drawn` at the very end: then the last one with any weight.
template <typename Weight>
size_t find_drawn(std::span<const Weight> weights, double drawn, double& before) {
    double sum = before;
    size_t found = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] == 0) continue;
        found = i;
        before = sum;
        sum += double{weights[i]};
        if (drawn < sum) break;
    }
    return found;
}

// Cuts candidates to the shortest run of first ranks whose weights, after those of the first `n_summed` with
// their `sum`, reach `wanted`; false if all of them don't. Ranks no more than it needs to; the first n_ranked
// are in rank.
bool cut_to_weight(float highest, double wanted, size_t n_ranked, size_t n_summed, double& sum,
                   std::vector<Candidate>& candidates) {
    for (size_t i = n_summed, n_more = kFirstBlock; i < candidates.size(); ++i) {
        if (i == n_ranked) {
            n_ranked = std::min(candidates.size(), n_ranked + n_more);
            n_more *= 8;
            const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(i);
            const auto to = candidates.begin() + static_cast<std::ptrdiff_t>(n_ranked);
            if (to != candidates.end()) std::nth_element(from, to, candidates.end(), ranks_before);
            std::sort(from, to, ranks_before);
        }
        sum += portable_exp(double{candidates[i].logit} - double{highest});
        if (sum >= wanted) {
            candidates.resize(i + 1);
            return true;
        }
    }
    return false;
}

// The nucleus of the whole vocabulary, by bands of logits, each ranked after the one above it.
void keep_nucleus(std::span<const float> logits, std::span<const float> maxima, float highest, double top_p,
                  std::vector<float>& sums, std::vector<Candidate>& candidates) {
    sums.resize(maxima.size());
    block_weights(logits, highest, 1, sums);
    const double wanted = top_p * sum_of<float>(sums);
    float end = INFINITY;
    double sum = 0;
    for (const float below : {2.0f, 4.0f, 6.0f, 8.0f, 10.0f, 12.0f, 16.0f, INFINITY}) {
        const size_t n = candidates.size();
        collect(logits, maxima, highest - below, end, candidates);
        if (cut_to_weight(highest, wanted, n, n, sum, candidates)) return;
        end = highest - below;
    }
}

void keep_min_p(float highest, double min_p, std::vector<Candidate>& candidates) {
    std::erase_if(candidates, [&](const Candidate& c) {
        return portable_exp(double{c.logit} - double{highest}) < min_p;
    });
}

}  // namespace

SamplerScratch::SamplerScratch(uint32_t vocab_size)
    : logits(vocab_size), maxima(n_logit_blocks(vocab_size)), counts(vocab_size) {
    sums.reserve(maxima.size());
    candidates.reserve(vocab_size);
    weights.reserve(vocab_size);
}

SamplerChain::SamplerChain(SamplerOptions options, uint32_t vocab_size)
    : options_(std::move(options)), vocab_size_(vocab_size) {}

// Bias and penalties. logits becomes what is drawn from; returns the highest.
Result<float> SamplerChain::prepare(std::span<const float>& logits, std::span<const int32_t> history,
                                    SamplerScratch& scratch) const {
    std::vector<float>& maxima = scratch.maxima;
    if (!block_maxima(logits, maxima)) return not_finite(logits);
    if (options_.has_penalties() || !options_.logit_bias.empty()) {
        TAKT_RETURN_IF_ERROR(change_logits(logits, history, scratch));
        logits = scratch.logits;
        block_maxima(logits, maxima);  // which may be -infinity now
    }
    const float highest = *std::ranges::max_element(maxima);
    if (highest != -INFINITY) return highest;
    return Status(StatusCode::no_token_allowed,
                  fmt::format("No token is allowed: logit_bias forbids all {} of them.", vocab_size_));
}

int32_t SamplerChain::first_with(std::span<const float> logits, float highest,
                                 const SamplerScratch& scratch) const {
    const auto block =
        static_cast<size_t>(std::ranges::find(scratch.maxima, highest) - scratch.maxima.begin());
    const std::span<const float> own = block_of(logits, block);
    return static_cast<int32_t>(block * kLogitBlock) +
           static_cast<int32_t>(std::ranges::find(own, highest) - own.begin());
}

Result<int32_t> SamplerChain::sample(std::span<const float> logits, std::span<const int32_t> history,
                                     uint64_t position, SamplerScratch& scratch) const {
    const Result<float> highest = prepare(logits, history, scratch);
    if (!highest.ok()) return highest.status();
    if (options_.is_greedy()) return first_with(logits, *highest, scratch);
    return draw(logits, *highest, position, scratch);
}

Status SamplerChain::probabilities(std::span<const float> logits, std::span<const int32_t> history,
                                   SamplerScratch& scratch, std::span<float> out) const {
    const Result<float> highest = prepare(logits, history, scratch);
    if (!highest.ok()) return highest.status();
    std::ranges::fill(out, 0.0f);
    if (options_.is_greedy()) {
        out[static_cast<size_t>(first_with(logits, *highest, scratch))] = 1;
        return {};
    }
    if (narrow(logits, *highest, scratch)) {
        const double sum = weigh(*highest, options_.temperature, scratch.candidates, scratch.weights);
        for (size_t i = 0; i < scratch.candidates.size(); ++i)
            out[static_cast<size_t>(scratch.candidates[i].id)] = static_cast<float>(scratch.weights[i] / sum);
        return {};
    }
    double sum = 0;
    for (size_t block = 0; block < scratch.maxima.size(); ++block) {
        const std::span<const float> own = block_of(logits, block);
        const std::span<float> weights = out.subspan(block * kLogitBlock, own.size());
        weights_of_block(own, *highest, 1.0f / options_.temperature, weights);
        sum += sum_of<float>(weights);
    }
    const auto inverse = static_cast<float>(1 / sum);
    for (float& weight : out) weight *= inverse;
    return {};
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

// Leaves what may be drawn among the candidates; false: every token may.
bool SamplerChain::narrow(std::span<const float> logits, float highest, SamplerScratch& scratch) const {
    const bool cut_to_k = options_.top_k > 0 && options_.top_k < logits.size();
    if (!cut_to_k && options_.top_p == 1 && options_.min_p == 0) return false;
    std::vector<Candidate>& candidates = scratch.candidates;
    candidates.clear();
    if (cut_to_k) {
        keep_top_k(logits, scratch.maxima, options_.top_k, scratch.sums, candidates);
        if (options_.top_p < 1) {
            const double wanted = options_.top_p * weigh(highest, 1, candidates, scratch.weights);
            double sum = 0;
            cut_to_weight(highest, wanted, candidates.size(), 0, sum, candidates);
        }
    } else if (options_.top_p < 1) {
        keep_nucleus(logits, scratch.maxima, highest, options_.top_p, scratch.sums, candidates);
    } else {  // a little further down than min_p says: keep_min_p() decides
        collect(logits, scratch.maxima, highest + std::log(options_.min_p) - 0.01f, INFINITY, candidates);
    }
    if (options_.min_p > 0) keep_min_p(highest, options_.min_p, candidates);
    return true;
}

int32_t SamplerChain::draw(std::span<const float> logits, float highest, uint64_t position,
                           SamplerScratch& scratch) const {
    const double random = random_unit(options_.seed, position);
    if (!narrow(logits, highest, scratch)) return draw_from_all(logits, highest, random, scratch);
    const double drawn = random * weigh(highest, options_.temperature, scratch.candidates, scratch.weights);
    double before = 0;
    return scratch.candidates[find_drawn<double>(scratch.weights, drawn, before)].id;
}

// By id: first the block, then the token in it.
int32_t SamplerChain::draw_from_all(std::span<const float> logits, float highest, double random,
                                    SamplerScratch& scratch) const {
    std::vector<float>& sums = scratch.sums;
    sums.resize(scratch.maxima.size());
    const float inverse = 1.0f / options_.temperature;
    block_weights(logits, highest, inverse, sums);
    const double drawn = random * sum_of<float>(sums);
    double before = 0;
    const size_t block = find_drawn<float>(sums, drawn, before);
    float weights[kLogitBlock];
    const std::span<const float> own = block_of(logits, block);
    weights_of_block(own, highest, inverse, weights);
    const size_t place = find_drawn(std::span<const float>(weights, own.size()), drawn, before);
    return static_cast<int32_t>(block * kLogitBlock + place);
}

}  // namespace takt
