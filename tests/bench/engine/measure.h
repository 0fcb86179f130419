// What scenarios share: a runtime with its models, requests and what they gave, numbers, a row of JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <takt/takt.hpp>

namespace bench {

constexpr int kRounds = 3;  // of each way, turn about

// The same numbers on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
    uint32_t between(uint32_t least, uint32_t most);
    std::vector<int32_t> ids(uint32_t count, uint32_t vocab_size);

private:
    uint64_t state_;
};

// The draft model is loaded only where there is one.
struct Stack {
    explicit Stack(const std::vector<std::string>& paths);
    takt::Runtime runtime;
    std::vector<takt::Model> models;
    const takt::Model& model() const { return models[0]; }
    uint32_t vocab_size() const { return model().info().vocab_size; }
};

// Steps of an engine, which must go first.
class StepLog {
public:
    std::function<void(const takt_step&)> listener();
    // Those that ended after one time, and not after the other.
    std::vector<takt_step> between(uint64_t after_ns, uint64_t until_ns);

private:
    std::mutex mutex_;
    std::vector<takt_step> steps_;
};

struct Answer {
    std::vector<int32_t> ids;
    takt_timing timing;
    uint64_t early_draft_ns = 0;  // the part of the draft model's time until the first token
};

// Runs a request to its end. Throws if it fails or ends too soon.
Answer ask(takt::Engine& engine, const takt::RequestOptions& options);
// Of a request that was submitted; throws as ask() does.
void wait_for(takt::Request& request);

double median(std::vector<double> values);
// By nearest rank, part in (0, 1].
double percentile(std::vector<double> values, double part);
uint64_t sum(const uint32_t (&counts)[16]);

// One line on stdout, when it goes.
class Row {
public:
    explicit Row(std::string_view scenario);
    ~Row();
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;
    Row& add(std::string_view name, double value);  // null where it isn't finite
    Row& add(std::string_view name, uint64_t value);
    Row& add(std::string_view name, bool value);

private:
    std::string text_;
};

}  // namespace bench
