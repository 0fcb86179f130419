// Requests are pulled rarely: a reader that wakes for every token would take a core from the step.
#include "measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace bench {

uint32_t Random::between(uint32_t least, uint32_t most) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return least + static_cast<uint32_t>((state_ >> 33) % (uint64_t{most} - least + 1));
}

std::vector<int32_t> Random::ids(uint32_t count, uint32_t vocab_size) {
    std::vector<int32_t> ids(count);
    for (int32_t& id : ids) id = static_cast<int32_t>(between(0, vocab_size - 1));
    return ids;
}

Stack::Stack(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) models.emplace_back(runtime, path);
}

std::function<void(const takt_step&)> StepLog::listener() {
    return [this](const takt_step& step) {
        const std::lock_guard lock(mutex_);
        steps_.push_back(step);
    };
}

std::vector<takt_step> StepLog::between(uint64_t after_ns, uint64_t until_ns) {
    const std::lock_guard lock(mutex_);
    std::vector<takt_step> some;
    for (const takt_step& step : steps_) {
        if (step.end_ns > after_ns && step.end_ns <= until_ns) some.push_back(step);
    }
    return some;
}

void wait_for(takt::Request& request) {
    request.wait();
    if (request.status() != TAKT_OK) throw takt::Error(request.status(), request.message());
}

Answer ask(takt::Engine& engine, const takt::RequestOptions& options) {
    Answer answer{{}, {}, 0};
    takt::Request request = engine.submit(options);
    if (const auto first = request.next(); first && first->is_token()) {
        answer.early_draft_ns = request.timing().draft_ns;
        answer.ids.push_back(first->raw.token_id);
        wait_for(request);
        for (auto event = request.next(); event && event->is_token(); event = request.next())
            answer.ids.push_back(event->raw.token_id);
    }
    wait_for(request);
    answer.timing = request.timing();
    if (answer.ids.size() < 2) throw std::runtime_error("A request ended with less than two tokens.");
    return answer;
}

double median(std::vector<double> values) {
    if (values.empty()) return NAN;
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double percentile(std::vector<double> values, double part) {
    if (values.empty()) return NAN;
    std::sort(values.begin(), values.end());
    const auto rank = static_cast<size_t>(std::ceil(part * static_cast<double>(values.size())));
    return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

uint64_t sum(const uint32_t (&counts)[16]) {
    uint64_t total = 0;
    for (const uint32_t count : counts) total += count;
    return total;
}

Row::Row(std::string_view scenario) : text_(fmt::format("{{\"scenario\":\"{}\"", scenario)) {}

Row::~Row() {
    std::printf("%s}\n", text_.c_str());
    std::fflush(stdout);
}

Row& Row::add(std::string_view name, double value) {
    text_ +=
        std::isfinite(value) ? fmt::format(",\"{}\":{:.6g}", name, value) : fmt::format(",\"{}\":null", name);
    return *this;
}

Row& Row::add(std::string_view name, uint64_t value) {
    text_ += fmt::format(",\"{}\":{}", name, value);
    return *this;
}

Row& Row::add(std::string_view name, bool value) {
    text_ += fmt::format(",\"{}\":{}", name, value);
    return *this;
}

}  // namespace bench
