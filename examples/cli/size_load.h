// The load that takt size users puts on a simulated engine, at any rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <takt/takt.hpp>

#include "numbers/slo.h"
#include "numbers/traffic.h"
#include "options.h"

namespace cli {

constexpr double kMostRate = 1e6;  // requests per second

struct UsersOptions {
    CommonOptions common;
    std::string bench, lengths = "512/128", preset;
    double ttft_ms = 0, tpot_ms = 0, itl_ms = 0, e2e_ms = 0;
    std::optional<double> rate, think;
    double target = 0.99;
    uint64_t requests = 1000, seed = 1, step_gap_us = 0, kv_tokens = 0;
    uint32_t sequences = 16, chunk = 0, context = 0;
};

// WrongUsage for a preset that isn't there, and where nothing is bounded.
Slo read_slo(const UsersOptions& options);

struct Outcome {
    double rate = 0;
    std::vector<RequestTimes> requests;
    uint64_t n_refused = 0;
    double seconds = 0;  // from the first arrival to the last end
    Attainment attained;
};

// Lengths drawn once: the same requests at every rate, only nearer to each other.
class SimulatedLoad {
public:
    // Failure and WrongUsage say what is wrong with the bench file and the lengths. Both outlive it.
    SimulatedLoad(const takt::Model& model, const UsersOptions& options);
    Outcome at(double rate) const;
    // So slow that nothing waits.
    double slowest_rate() const;
    // Requests a second that the engine carries at most: all at once, divided by the time until the last one
    // ends. What comes faster for ever waits for ever, whatever a sample of them says.
    double capacity() const;
    // The largest rate up to that whose attainment reaches the target, within a percent; nothing if even the
    // slowest misses.
    std::optional<Outcome> most(double target) const;

private:
    Outcome run(double rate, const std::vector<takt_simulated_request>& requests) const;

    const takt::Model& model_;
    const UsersOptions& options_;
    const Slo slo_;
    const takt::StepCosts costs_;
    std::vector<Lengths> lengths_;
    takt::EngineOptions engine_;
};

}  // namespace cli
