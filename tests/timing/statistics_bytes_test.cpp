// Exported statistics whose checksum fits, whatever was changed: they are refused or usable, never a danger.
#include <catch2/catch.hpp>

#include <cstring>
#include <random>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "prometheus_check.h"
#include "timing/statistics_bytes.h"

namespace takt {
namespace {

using Bytes = std::vector<std::byte>;

// A request of each outcome, and what belongs to no request.
void fill(Statistics& statistics, Origin& origin) {
    statistics.begin_ns = 1'000;
    statistics.end_ns = 2'000'000'000;
    const Slo slo{1, 1, 1, 1};
    for (const FinishReason reason : {FinishReason::stop, FinishReason::cancelled, FinishReason::error}) {
        Timeline timeline;
        timeline.submitted_ns = 1'000;
        timeline.scheduled_ns = 5'000;
        timeline.prompt_tokens = 12;
        timeline.steps = {{70'000, 1}, {150'000, 2}, {290'000'000, 1}};
        const TimingSummary summary = summarize_phases(timeline, 300'000'000);
        statistics.record({timeline, summary, reason, slo, 300'000'000, reason == FinishReason::stop},
                          origin.smooth);
    }
    statistics.record_shed(slo);
    statistics.totals.n_steps = 3;
    statistics.totals.energy_microjoules = 17;
    statistics[Series::page_lifetime].record(uint64_t{1} << 60);  // more than the last bucket begins with
    origin.model_name = "a \"model\"";
    origin.engine = std::string("engine 0");
    origin.conditions = {R"({"warm":true,"cores":[1,2]})"};
    origin.energy_is_known = true;
    origin.energy_method = "meter";
}

Bytes sealed(Bytes bytes) {
    const std::span<std::byte> all(bytes);
    const auto body = all.first(all.size() - sizeof(uint64_t));
    const uint64_t checksum = checksum64(body);
    std::memcpy(all.last(sizeof checksum).data(), &checksum, sizeof checksum);
    return bytes;
}

// True if they were taken; then everything that can be done with statistics works.
bool is_taken(const Bytes& bytes) {
    Statistics statistics;
    Origin origin;
    const Status status = import_statistics(bytes, statistics, origin);
    if (!status.ok()) {
        const bool is_named =
            status.code() == StatusCode::state_corrupt || status.code() == StatusCode::state_mismatch;
        if (!is_named || status.message().empty()) FAIL(status.message());
        return false;
    }
    if (!nlohmann::json::accept(statistics_json(statistics, origin))) FAIL("no JSON");
    prometheus_text(statistics, origin);
    Statistics again;
    again.assign(statistics);
    again.merge(statistics);
    origin.merge(origin);
    if (!nlohmann::json::accept(statistics_json(again, origin))) FAIL("no JSON of a merge");
    if (!statistics.subtract(statistics)) FAIL("it isn't its own past");
    return true;
}

}  // namespace

TEST_CASE("Statistics come back from their bytes to the last bit") {
    Statistics statistics, back;
    Origin origin, origin_back;
    fill(statistics, origin);
    const Bytes bytes = export_statistics(statistics, origin);
    REQUIRE(import_statistics(bytes, back, origin_back).ok());
    CHECK(export_statistics(back, origin_back) == bytes);
    CHECK(statistics_json(back, origin_back) == statistics_json(statistics, origin));
    CHECK(prometheus_text(back, origin_back) == prometheus_text(statistics, origin));
    CHECK(takt_test::PrometheusCheck(prometheus_text(back, origin_back)).faults() ==
          std::vector<std::string>{});
    CHECK(is_taken(sealed(bytes)));
}

TEST_CASE("Statistics that were changed and sealed again are refused or usable") {
    Statistics statistics;
    Origin origin;
    fill(statistics, origin);
    const Bytes whole = export_statistics(statistics, origin);
    size_t n_taken = 0;
    for (size_t i = 0; i + sizeof(uint64_t) < whole.size(); ++i) {
        for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            Bytes changed = whole;
            changed[i] = static_cast<std::byte>(value);
            n_taken += is_taken(sealed(std::move(changed)));
        }
    }
    CHECK(n_taken > 0);
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) {
        Bytes changed = whole;
        const size_t begin = random() % (whole.size() - 8), n = 1 + random() % 16;
        for (size_t k = begin; k < std::min(begin + n, whole.size() - 8); ++k)
            changed[k] = static_cast<std::byte>(random());
        is_taken(sealed(std::move(changed)));
    }
}

TEST_CASE("Statistics that were cut or lengthened and sealed again are refused") {
    Statistics statistics;
    Origin origin;
    fill(statistics, origin);
    const Bytes whole = export_statistics(statistics, origin);
    for (size_t n = 8; n < whole.size(); ++n)
        REQUIRE_FALSE(is_taken(sealed(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)))));
    for (const size_t n : {1, 8, 12}) {
        Bytes longer = whole;
        longer.resize(whole.size() + n);
        CHECK_FALSE(is_taken(sealed(std::move(longer))));
    }
}

}  // namespace takt
