// The calling thread submits and sleeps; events wait in each request's queue until it pulls them.
#include "bench/issue.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "system.h"

namespace cli {
namespace {

constexpr uint64_t kLookForSignalsNs = 100'000'000;

void record_token(const takt_event& event, uint64_t& computed_ns, RequestRecord& record) {
    record.token_ns.push_back(event.ready_ns);
    if (record.step_ns.empty() || event.computed_ns != computed_ns) {
        record.step_ns.push_back(event.ready_ns);
        record.step_tokens.push_back(0);
        computed_ns = event.computed_ns;
    }
    record.step_ns.back() = event.ready_ns;
    ++record.step_tokens.back();
}

RequestEnd end_of(const takt_event& event) {
    if (event.status != TAKT_OK) return RequestEnd::failed;
    return event.finish_reason == TAKT_FINISH_CANCELLED ? RequestEnd::cancelled : RequestEnd::completed;
}

}  // namespace

struct Issuer::Issued {
    RequestRecord record;
    std::optional<takt::Request> request;  // not of one that was refused
    takt::RequestOptions options;          // its callbacks must outlive it
};

Issuer::Issued Issuer::issue(uint64_t scheduled_ns, uint64_t query) {
    Issued issued;
    issued.record.scheduled_ns = scheduled_ns;
    issued.record.query = query;
    issued.options = workload_.next();
    sleep_until(scheduled_ns);
    issued.record.submitted_ns = runtime_.now_ns();
    try {
        issued.request.emplace(engine_.submit(issued.options));
    } catch (const takt::Error& error) {
        issued.record.end = RequestEnd::failed;
        issued.record.message = error.what();
        issued.record.ended_ns = runtime_.now_ns();
    }
    return issued;
}

void Issuer::sleep_until(uint64_t ns) const {
    for (;;) {
        check_interrupted();
        const uint64_t now = runtime_.now_ns();
        if (now >= ns) return;
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(ns - now, kLookForSignalsNs)));
    }
}

RequestRecord Issuer::finish(Issued issued) const {
    RequestRecord& record = issued.record;
    uint64_t computed_ns = 0;
    while (issued.request) {
        check_interrupted();
        const std::optional<takt::Event> event = issued.request->next(kLookForSignalsNs);
        if (!event) continue;
        if (event->is_token()) {
            record_token(event->raw, computed_ns, record);
            continue;
        }
        record.end = end_of(event->raw);
        record.message = event->message;
        record.timing = issued.request->timing();
        record.submitted_ns = record.timing.submitted_ns;
        record.ended_ns = record.timing.finished_ns;
        break;
    }
    return std::move(record);
}

void Issuer::warm_up() {
    static_cast<void>(engine_.generate(Workload(workload_).next()));  // a copy: the first is issued again
}

std::vector<RequestRecord> Issuer::in_turn(uint64_t n_queries, double seconds, uint32_t per_query) {
    std::vector<RequestRecord> records;
    const uint64_t begin = runtime_.now_ns();
    const auto least_ns = static_cast<uint64_t>(seconds * 1e9);
    for (uint64_t query = 0; query < n_queries || runtime_.now_ns() - begin < least_ns; ++query) {
        const uint64_t now = runtime_.now_ns();
        std::vector<Issued> together;
        for (uint32_t i = 0; i < per_query; ++i) together.push_back(issue(now, query));
        for (Issued& issued : together) records.push_back(finish(std::move(issued)));
    }
    return records;
}

std::vector<RequestRecord> Issuer::at_times(const std::vector<double>& arrivals) {
    std::vector<Issued> all;
    all.reserve(arrivals.size());
    const uint64_t begin = runtime_.now_ns();
    for (std::size_t i = 0; i < arrivals.size(); ++i)
        all.push_back(issue(begin + static_cast<uint64_t>(arrivals[i] * 1e9), i));
    std::vector<RequestRecord> records;
    for (Issued& issued : all) records.push_back(finish(std::move(issued)));
    return records;
}

}  // namespace cli
