// Costs of steps and the number of drafts, on machines whose costs are known.
#include "engine/draft_length.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

namespace takt {
namespace {

// A step of n rows takes 10 ms and a share of it for each row more.
uint64_t step_ns(uint32_t n_rows, double share) {
    return static_cast<uint64_t>(1e7 * (1 + share * (n_rows - 1)));
}

struct Run {
    double tokens = 0, ns = 0;
    uint32_t n_drafted = 0, n_steps = 0;
    double tokens_per_step_time() const { return tokens / ns * 1e7; }
};

// Decodes n steps of one request whose drafts are right with this probability, each behind right ones.
Run decode(double right, double row_share, double draft_share, int n_steps) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> draw;
    StepCosts steps, drafts;
    DraftLength length;
    Run run;
    for (int i = 0; i < n_steps; ++i) {
        const DraftSituation situation{&steps, draft_share > 0 ? &drafts : nullptr, 1, 1, 0};
        const uint32_t n = length.choose(situation, kMaxDrafts);
        uint32_t n_right = 0;
        while (n_right < n && draw(random) < right) ++n_right;
        if (n > 0) length.record(n, n_right);
        steps.record(1 + n, step_ns(1 + n, row_share));
        if (n > 0) drafts.record(1, static_cast<uint64_t>(1e7 * draft_share));
        run.tokens += 1 + n_right;
        run.ns += static_cast<double>(step_ns(1 + n, row_share)) + n * 1e7 * draft_share;
        run.n_drafted += n;
        ++run.n_steps;
    }
    return run;
}

// metrics.md: (1 - a^(g+1)) / (1 - a) tokens a step, over g c + v.
double best_speedup(double right, double row_share, double draft_share) {
    double best = 1;
    for (uint32_t g = 1; g <= kMaxDrafts; ++g) {
        const double tokens = (1 - std::pow(right, g + 1)) / (1 - right);
        best = std::max(best, tokens / (g * draft_share + 1 + row_share * g));
    }
    return best;
}

}  // namespace

TEST_CASE("the number of drafts comes near the best one, and costs little where none is right") {
    for (const double right : {0.3, 0.6, 0.8, 0.95}) {
        for (const double row_share : {0.02, 0.1, 0.3}) {
            for (const double draft_share : {0.0, 0.1, 0.35}) {
                const Run run = decode(right, row_share, draft_share, 2000);
                INFO(right << " " << row_share << " " << draft_share);
                CHECK(run.tokens_per_step_time() > 0.9 * best_speedup(right, row_share, draft_share));
            }
        }
    }
    for (const double draft_share : {0.0, 0.35}) {
        const Run run = decode(0, 0.2, draft_share, 300);
        CHECK(run.tokens_per_step_time() > 0.95);
        CHECK(run.n_drafted > 5);  // it is tried again
    }
}

TEST_CASE("acceptance that comes back is noticed") {
    StepCosts steps;
    DraftLength length;
    const DraftSituation situation{&steps, nullptr, 1, 1, 0};
    for (uint32_t rows = 1; rows <= 16; ++rows) steps.record(rows, step_ns(rows, 0.1));
    for (int i = 0; i < 400; ++i) {
        if (const uint32_t n = length.choose(situation, kMaxDrafts); n > 0) length.record(n, 0);
    }
    CHECK(length.choose(situation, 8) == 0);
    uint32_t n_steps = 0;
    for (; n_steps < 1000; ++n_steps) {
        const uint32_t n = length.choose(situation, kMaxDrafts);
        if (n > 0) length.record(n, n);
        if (n > 4) break;
    }
    CHECK(n_steps <= 520);
}

TEST_CASE("no more drafts than there is room for, and none without room") {
    StepCosts steps;
    DraftLength length;
    const DraftSituation situation{&steps, nullptr, 1, 1, 0};
    CHECK(length.choose(situation, 0) == 0);
    CHECK(length.choose(situation, 3) <= 3);
    for (int i = 0; i < 50; ++i) length.record(3, 3);
    CHECK(length.choose(situation, 100) <= kMaxDrafts);
}

TEST_CASE("costs between known numbers of rows lie on a line, those beyond go on, a hold-up counts little") {
    StepCosts costs;
    CHECK(costs.ns(4) == 0);
    costs.record(1, 1000);
    CHECK(costs.ns(1) == 1000);
    CHECK(costs.ns(9) > 1000);
    CHECK(costs.ns(9) < 2000);
    costs.record(5, 1800);
    CHECK(costs.ns(3) == Approx(1400));
    CHECK(costs.ns(9) == Approx(2600));
    for (int i = 0; i < 40; ++i) costs.record(1, 1000);
    costs.record(1, 1'000'000);
    CHECK(costs.ns(1) < 1300);
    costs.record(StepCosts::kMostRows + 1, 5);
    costs.record(0, 5);
    CHECK(costs.ns(5) == 1800);
}

}  // namespace takt
