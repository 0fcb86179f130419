// Log-probabilities of given texts against the float32 oracle's.
#include <cmath>

#include "golden_engine.h"

namespace takt {
namespace {

using namespace takt::test;

double log_probability(const std::vector<float>& logits, int32_t id) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x} - highest);
    return double{logits[static_cast<size_t>(id)]} - highest - std::log(sum);
}

struct Difference {
    double mean = 0, largest = 0;
};

// Over every next token of the case: |log p(takt) - log p(oracle)|.
Difference next_token_difference(Engine& engine, const nlohmann::json& golden) {
    const auto ids = golden.at("ids").get<std::vector<int32_t>>();
    const auto rows = logits_of(engine, ids, 0);
    const auto& wanted = golden.at("next_logprob");
    REQUIRE(rows.size() == ids.size());
    REQUIRE(wanted.size() + 1 == ids.size());
    Difference difference;
    for (size_t i = 0; i < wanted.size(); ++i) {
        const double d = std::abs(log_probability(rows[i], ids[i + 1]) - wanted[i].get<double>());
        difference.mean += d / static_cast<double>(wanted.size());
        difference.largest = std::max(difference.largest, d);
    }
    return difference;
}

void check_model(const std::string& name, const std::string& backend, double mean, double largest,
                 size_t max_tokens) {
    const auto model = load_real_model(name);
    if (!model) return;
    EngineOptions options;
    options.backend = backend;
    options.context_tokens = 1024;
    options.max_sequences = 1;
    const auto engine = make_engine(model, options);
    size_t n_cases = 0;
    for (const auto& golden : golden_cases("logits_" + name)) {
        if (golden.at("ids").size() > max_tokens) continue;
        const Difference found = next_token_difference(*engine, golden);
        INFO(name << " on " << backend << ", case " << golden.at("name"));
        CHECK(found.mean <= mean);
        CHECK(found.largest <= largest);
        ++n_cases;
    }
    CHECK(n_cases > 0);
}

}  // namespace

TEST_CASE("the reference backend's log-probabilities are the oracle's") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::end(kRealModels)));
    check_model(name, "reference", 2e-4, 2e-3, name == kRealModels[0] && !kSanitized ? 1000 : 64);
}

TEST_CASE(
    "the cpu backend's log-probabilities stray from the oracle's by no more than eight-bit activations "
    "must") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::end(kRealModels)));
    check_model(name, "cpu", 0.12, 1.5, kSanitized ? 64 : 1000);
}

}  // namespace takt
