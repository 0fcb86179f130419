// Prefill: from the first scheduled request to the last first token. Decode: from the moment all sequences
// decode until each has its n tokens; tokens of all of them over that time.
#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bench/round.h"
#include "failure.h"
#include "system.h"

namespace cli {
namespace {

constexpr uint64_t kLookForSignalsNs = 100'000'000;

// Steps that may pass between the first and the last sequence's first token.
uint32_t prefill_steps(const BenchShape& shape, uint32_t chunk_tokens) {
    const uint64_t rows = uint64_t{shape.sequences} * (shape.depth + shape.prompt_tokens);
    return static_cast<uint32_t>(rows / chunk_tokens) + shape.sequences + 1;
}

// A first token comes from the prefill; while other sequences are still in theirs, more may come.
uint32_t tokens_to_generate(const BenchShape& shape, uint32_t chunk_tokens) {
    if (shape.decode_tokens == 0) return 1;
    return 1 + shape.decode_tokens + (shape.sequences > 1 ? prefill_steps(shape, chunk_tokens) : 0);
}

struct Stamps {
    uint64_t scheduled_ns = 0;
    std::vector<uint64_t> ready_ns;  // per token
};

Stamps pull(takt::Request& request) {
    Stamps stamps;
    for (;;) {
        check_interrupted();
        const std::optional<takt::Event> event = request.next(kLookForSignalsNs);
        if (!event) continue;
        stamps.scheduled_ns = event->raw.scheduled_ns;
        if (event->is_token()) {
            stamps.ready_ns.push_back(event->raw.ready_ns);
        } else if (event->raw.status != TAKT_OK) {
            throw Failure(std::string(event->message));
        } else {
            return stamps;
        }
    }
}

// A request of one token whose callback holds the engine until all others are queued: they then begin in one
// step, however long submitting them takes.
class Gate {
public:
    explicit Gate(takt::Engine& engine) {
        takt::RequestOptions options;
        options.prompt_ids = {0};
        options.max_tokens = 1;
        options.on_event = [this](const takt::Event& event) {
            hold(event.is_token());
            return true;
        };
        request_.emplace(engine.submit(options));
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return held_; });
    }
    ~Gate() { open(); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void open() {
        {
            const std::lock_guard lock(mutex_);
            open_ = true;
        }
        changed_.notify_all();
        request_.reset();
    }

private:
    // A request that ends without its token has nothing to hold.
    void hold(bool wait) {
        std::unique_lock lock(mutex_);
        held_ = true;
        changed_.notify_all();
        if (wait) changed_.wait(lock, [this] { return open_; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false, open_ = false;
    std::optional<takt::Request> request_;
};

std::vector<Stamps> run_all(takt::Engine& engine, const BenchShape& shape, uint32_t vocab_size,
                            uint32_t max_tokens, uint64_t seed, Drives drives) {
    std::vector<takt::Request> requests;
    std::optional<Gate> gate;
    if (shape.sequences > 1 && drives == Drives::engine) gate.emplace(engine);
    for (uint32_t s = 0; s < shape.sequences; ++s) {
        takt::RequestOptions options;
        options.prompt_ids = made_up_ids(shape.depth + shape.prompt_tokens, vocab_size, seed + s);
        options.max_tokens = max_tokens;
        options.ignore_eos = true;
        requests.push_back(engine.submit(options));
    }
    gate.reset();
    std::vector<Stamps> stamps;
    for (takt::Request& request : requests) stamps.push_back(pull(request));
    return stamps;
}

uint64_t last_first_token(const std::vector<Stamps>& stamps) {
    uint64_t last = 0;
    for (const Stamps& s : stamps) last = std::max(last, s.ready_ns.front());
    return last;
}

uint64_t prefill_ns(const std::vector<Stamps>& stamps) {
    uint64_t first = std::numeric_limits<uint64_t>::max();
    for (const Stamps& s : stamps) first = std::min(first, s.scheduled_ns);
    return last_first_token(stamps) - first;
}

std::optional<double> rate(uint64_t tokens, uint64_t ns) {
    if (tokens == 0 || ns == 0) return std::nullopt;
    return static_cast<double>(tokens) * 1e9 / static_cast<double>(ns);
}

// What the tokens in front of the prompt take alone, which is no part of its prefill: less than both
// together.
uint64_t time_in_front(takt::Engine& engine, const BenchShape& shape, uint32_t vocab_size, uint64_t seed,
                       uint64_t together_ns, Drives drives) {
    constexpr int kTries = 50;  // a busy moment of the machine can swallow a prompt of a few microseconds
    BenchShape front = shape;
    front.prompt_tokens = 0;
    for (int i = 0; i < kTries; ++i) {
        const uint64_t ns = prefill_ns(run_all(engine, front, vocab_size, 1, seed + 500'009 + i, drives));
        if (ns < together_ns) return ns;
    }
    throw Failure(fmt::format("{} prompt tokens take too little time behind {} others to be measured.",
                              shape.prompt_tokens, shape.depth));
}

std::optional<double> decode_rate(const std::vector<Stamps>& stamps, uint32_t decode_tokens) {
    const uint64_t begin = last_first_token(stamps);
    uint64_t end = begin;
    for (const Stamps& s : stamps) {
        const auto after = std::upper_bound(s.ready_ns.begin(), s.ready_ns.end(), begin);
        const auto available = s.ready_ns.end() - after;
        if (available < static_cast<std::ptrdiff_t>(decode_tokens))
            throw Failure("A sequence ended before it had its tokens.");
        end = std::max(end, *(after + decode_tokens - 1));
    }
    uint64_t tokens = 0;
    for (const Stamps& s : stamps) {
        tokens += static_cast<uint64_t>(std::upper_bound(s.ready_ns.begin(), s.ready_ns.end(), end) -
                                        std::upper_bound(s.ready_ns.begin(), s.ready_ns.end(), begin));
    }
    return rate(tokens, end - begin);
}

}  // namespace

std::vector<int32_t> made_up_ids(uint32_t count, uint32_t vocab_size, uint64_t seed) {
    std::vector<int32_t> ids(std::max(count, 1u));
    uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
    for (int32_t& id : ids) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        id = static_cast<int32_t>((state >> 33) % vocab_size);
    }
    return ids;
}

uint32_t context_tokens(const BenchShape& shape, uint32_t chunk_tokens) {
    return std::max(shape.depth + shape.prompt_tokens, 1u) + tokens_to_generate(shape, chunk_tokens) + 1;
}

BenchRound measure_round(takt::Engine& engine, const BenchShape& shape, uint32_t vocab_size,
                         uint32_t chunk_tokens, uint32_t round, Drives drives) {
    const uint64_t seed = uint64_t{round} * 1'000'003;
    BenchRound result;
    const std::vector<Stamps> stamps =
        run_all(engine, shape, vocab_size, tokens_to_generate(shape, chunk_tokens), seed, drives);
    if (shape.decode_tokens > 0) result.decode_per_second = decode_rate(stamps, shape.decode_tokens);
    if (shape.prompt_tokens == 0) return result;
    uint64_t ns = prefill_ns(stamps);
    if (shape.depth > 0) ns -= time_in_front(engine, shape, vocab_size, seed, ns, drives);
    result.prefill_per_second = rate(uint64_t{shape.prompt_tokens} * shape.sequences, ns);
    return result;
}

}  // namespace cli
