// The tables; tests/data/metric_vectors.json says where each number stands.
#include "numbers/published.h"

namespace cli {
namespace {

constexpr PublishedLatency kLatencies[] = {
    {"7B", 0.24, 0.89, 1.42, 0.019, 0.037, 0.056},
    {"13B", 0.31, 1.12, 1.78, 0.033, 0.067, 0.096},
    {"70B", 0.87, 2.34, 3.67, 0.122, 0.231, 0.343},
};

constexpr double kServers = 3, kServersTokensPerSecond = 87334;

constexpr PublishedFactor kFactors[] = {
    {"ppd_turn2_ttft", FactorKind::falls_by, 0.68,
     "TTFT of later turns where decode nodes prefill what is new"},
    {"instruction_overhead", FactorKind::falls_by, 0.965, "overhead of instructions, at most"},
    {"kv_waste_paged", FactorKind::at_most_share, 0.04,
     "memory of keys and values in pages that holds nothing"},
    {"kv_transfer_overhead", FactorKind::at_most_ms, 0.21,
     "keys and values between nodes on 25 Gbit/s Ethernet"},
    {"heterogeneous_a100_tpot", FactorKind::saves_at_least_ms, 2,
     "TPOT with decode on other devices than prefill"},
    {"krai_multi_node", FactorKind::tokens_per_second, kServersTokensPerSecond / kServers,
     "one server of three that serve together"},
};

constexpr PublishedClaim kSpeculation[] = {
    {"up to +111 % throughput", "new draft model for LLaMA-65B against an existing draft"},
    {"over +60 %", "deeper-but-narrower vs same parameter count: new narrow deep draft replaces old"},
    {"+97 % to +111 %", "temperature sampling, NoFT-Wide-796M against a fine-tuned model"},
};

}  // namespace

std::span<const PublishedLatency> published_latencies() {
    return kLatencies;
}
std::span<const PublishedFactor> published_factors() {
    return kFactors;
}
double after_fall(double amount, double share) {
    return amount * (1 - share);
}
std::span<const PublishedClaim> published_speculation() {
    return kSpeculation;
}

}  // namespace cli
