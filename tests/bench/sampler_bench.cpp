// What sampling costs on a large vocabulary, one thread, beside one read of its logits. Not part of the
// suite.
//   sampler_bench [vocabulary]
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "sampler/sampler_chain.h"

using namespace takt;

namespace {

// Microseconds of the best of 200 calls.
template <typename F>
double best_us(F&& body) {
    double best = 1e9;
    for (int i = 0; i < 200; ++i) {
        const auto start = std::chrono::steady_clock::now();
        body(i);
        best = std::min(
            best,
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    const auto vocab = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 262144);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 4);
    std::vector<float> logits(vocab);
    for (float& logit : logits) logit = normal(random);
    std::vector<float> copy(vocab);
    fmt::print("{} logits: copied in {:.0f} us\n", vocab, best_us([&](int) { copy = logits; }));
    SamplerScratch scratch(vocab);
    struct Case {
        const char* name;
        SamplerOptions options;
    };
    std::vector<Case> cases(6);
    for (Case& c : cases) c.options.temperature = 0.8f;
    cases[0] = {"greedy", {}};
    cases[1].name = "temperature";
    cases[2].name = "top-k 40", cases[2].options.top_k = 40;
    cases[3].name = "top-p 0.95", cases[3].options.top_p = 0.95f;
    cases[4].name = "min-p 0.05", cases[4].options.min_p = 0.05f;
    cases[5].name = "penalties", cases[5].options.repetition_penalty = 1.1f, cases[5].options.top_k = 40;
    const std::vector<int32_t> history(64, 7);
    for (const Case& c : cases) {
        const SamplerChain chain(c.options, vocab);
        fmt::print("{:12} {:6.0f} us\n", c.name, best_us([&](int i) {
                       if (!chain.sample(logits, history, static_cast<uint64_t>(i), scratch).ok())
                           std::abort();
                   }));
    }
    return 0;
}
