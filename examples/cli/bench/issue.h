// Requests issued as a scenario says, each with its times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <takt/takt.hpp>

#include "bench/workload.h"
#include "numbers/slo.h"

namespace cli {

struct RequestRecord {
    uint64_t scheduled_ns = 0;  // when it should be issued
    uint64_t submitted_ns = 0;  // when it was
    uint64_t ended_ns = 0;
    RequestEnd end = RequestEnd::completed;
    std::string message;             // of one that failed
    uint64_t query = 0;              // requests that were issued together
    takt_timing timing{};            // takt's own, from submitted_ns on; not of one that was refused
    std::vector<uint64_t> token_ns;  // when each token was ready
    std::vector<uint64_t> step_ns;   // when the tokens of each step were
    std::vector<uint32_t> step_tokens;
};

class Issuer {
public:
    Issuer(const takt::Runtime& runtime, takt::Engine& engine, Workload& workload)
        : runtime_(runtime), engine_(engine), workload_(workload) {}

    // One request that isn't recorded.
    void warm_up();
    // Queries of so many requests, each when the one before is over, until both the number of queries and the
    // time are reached.
    std::vector<RequestRecord> in_turn(uint64_t n_queries, double seconds, uint32_t per_query);
    // Each at its time, in seconds from now, whatever the others do.
    std::vector<RequestRecord> at_times(const std::vector<double>& arrivals);

private:
    struct Issued;
    Issued issue(uint64_t scheduled_ns, uint64_t query);
    void sleep_until(uint64_t ns) const;
    RequestRecord finish(Issued issued) const;

    const takt::Runtime& runtime_;
    takt::Engine& engine_;
    Workload& workload_;
};

}  // namespace cli
