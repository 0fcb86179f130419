// Runs the load that takt size users simulates: the same Poisson arrivals and lengths, on the engine itself.
//   sizing_bench MODEL.gguf THREADS RATE REQUESTS SEED LENGTHS
// prints one JSON object: {"ttft_ns":[…],"tpot_ns":[…],"late_ns":…}, a number a request, null where
// undefined.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <takt/takt.hpp>

#include "numbers/traffic.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kSequences = 16;  // as takt size users has by default
constexpr int kWarmups = 4;

struct Load {
    std::vector<double> arrivals;
    std::vector<cli::Lengths> lengths;
};

Load make_load(double rate, uint64_t n, uint64_t seed, const std::string& lengths) {
    const std::optional<cli::LengthMix> mix = cli::parse_length_mix(lengths);
    if (!mix) throw std::runtime_error("no lengths: " + lengths);
    Load load{cli::poisson_arrivals(rate, n, 0, seed), {}};
    std::mt19937_64 random(seed + 1);
    for (uint64_t i = 0; i < n; ++i) load.lengths.push_back(cli::draw(*mix, random));
    return load;
}

takt::RequestOptions request_of(const cli::Lengths& lengths, uint64_t number, uint32_t vocab_size) {
    takt::RequestOptions options;
    std::mt19937_64 random(number);
    for (uint32_t i = 0; i < lengths.prompt_tokens; ++i)
        options.prompt_ids.push_back(static_cast<int32_t>(random() % vocab_size));
    options.max_tokens = lengths.output_tokens;
    options.ignore_eos = true;
    options.on_event = [](const takt::Event&) { return true; };
    return options;
}

std::string list(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
        text += fmt::format("{}{}", text.empty() ? "" : ",",
                            std::isnan(value) ? "null" : fmt::format("{:.0f}", value));
    return "[" + text + "]";
}

int run(char** argv) {
    takt::RuntimeOptions how;
    how.n_threads = static_cast<uint32_t>(std::atoi(argv[2]));
    const takt::Runtime runtime(how);
    const takt::Model model(runtime, argv[1]);
    takt::EngineOptions options;
    options.max_sequences = kSequences;
    takt::Engine engine(model, options);
    const uint32_t vocab_size = model.info().vocab_size;
    const Load load = make_load(std::atof(argv[3]), std::strtoull(argv[4], nullptr, 10),
                                std::strtoull(argv[5], nullptr, 10), argv[6]);
    for (int i = 0; i < kWarmups; ++i)
        engine.generate(request_of(load.lengths.front(), 1'000'000 + static_cast<uint64_t>(i), vocab_size));
    std::vector<takt::Request> requests;
    double late_ns = 0;  // the latest submit
    const Clock::time_point start = Clock::now();
    for (size_t i = 0; i < load.arrivals.size(); ++i) {
        takt::RequestOptions request = request_of(load.lengths[i], i, vocab_size);
        const auto due = start + std::chrono::nanoseconds(std::llround(load.arrivals[i] * 1e9));
        std::this_thread::sleep_until(due);
        late_ns = std::max(late_ns, static_cast<double>((Clock::now() - due).count()));
        requests.push_back(engine.submit(request));
    }
    std::vector<double> ttft, tpot;
    for (takt::Request& request : requests) {
        request.wait();
        const takt_timing timing = request.timing();
        ttft.push_back(timing.ttft_ns == TAKT_UNDEFINED_NS ? NAN : static_cast<double>(timing.ttft_ns));
        tpot.push_back(timing.tpot_ns);
    }
    std::puts(
        fmt::format("{{\"ttft_ns\":{},\"tpot_ns\":{},\"late_ns\":{:.0f}}}", list(ttft), list(tpot), late_ns)
            .c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fputs("sizing_bench MODEL.gguf THREADS RATE REQUESTS SEED LENGTHS\n", stderr);
        return 2;
    }
    try {
        return run(argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sizing_bench: %s\n", error.what());
        return 1;
    }
}
