// Recurrent state on the reference backend: against plain loops, in other chunks and batches, and after rows
// that were left out.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <random>

#include "backend/state_form.h"
#include "create/create.h"
#include "random_weights.h"
#include "recurrent_program.h"
#include "step_driver.h"
#include "test_backends.h"

using namespace takt;
using namespace takt::test;

namespace {

struct Compiled {
    std::shared_ptr<const Program> program;
    RandomWeights weights;
    std::unique_ptr<Backend> backend;
    CompileOptions options;
    std::unique_ptr<Executable> executable;
    std::unique_ptr<StepDriver> driver;

    explicit Compiled(std::shared_ptr<const Program> of = recurrent_program(), uint32_t n_sequences = 1,
                      ThreadPool* pool = nullptr)
        : program(std::move(of)),
          weights(*program, 5),
          backend(create_reference_backend({pool, nullptr, ""}).value()),
          options(compile_options(*program, 96, 96, n_sequences)) {
        WeightStore store;
        auto packed = backend->load_weights(*program, weights, store, {});
        REQUIRE(packed.ok());
        executable = backend->compile(program, *packed, options).value();
        driver = std::make_unique<StepDriver>(*program, *executable, options);
    }
    std::vector<float> logits(uint64_t sequence, std::span<const int32_t> ids, size_t chunk_tokens) {
        Result<std::vector<float>> result = driver->logits(sequence, ids, chunk_tokens);
        INFO(result.status().message());
        REQUIRE(result.ok());
        return *result;
    }
    uint32_t slot(uint64_t sequence) {
        for (size_t g = 0; g < program->groups.size(); ++g) {
            if (program->groups[g].recurrent) return driver->tables(sequence)[g][0];
        }
        return kNoPage;
    }
    std::vector<float> state(uint32_t of, uint32_t in_slot) {
        const uint32_t n = program->recurrent_states[of].n_floats;
        std::vector<float> floats(n);
        REQUIRE(executable->read_recurrent({{of}, in_slot, 0, n}, std::as_writable_bytes(std::span(floats)))
                    .ok());
        return floats;
    }
};

using Vector = std::vector<double>;

// The program without attention in plain loops over doubles.
class Loops {
public:
    explicit Loops(const RandomWeights& weights) : weights_(weights) {}

    Vector next(int32_t token) {
        const Vector table = read("token_embd.weight", kRecurrentVocab * kRecurrentWidth);
        const auto begin = table.begin() + token * std::ptrdiff_t{kRecurrentWidth};
        Vector x(begin, begin + kRecurrentWidth);
        inputs_.push_back(times("blk.0.attn_k.weight", kRecurrentWidth, norm("blk.0.attn_norm.weight", x)));
        const Vector taps = read("blk.0.ffn_gate.weight", kRecurrentWidth * kTaps);
        Vector mixed(kRecurrentWidth, 0.0);
        for (size_t c = 0; c < mixed.size(); ++c) {
            for (size_t back = 0; back < kTaps && back < inputs_.size(); ++back)
                mixed[c] += taps[c * kTaps + kTaps - 1 - back] * inputs_[inputs_.size() - 1 - back][c];
        }
        const Vector product = times("blk.0.attn_v.weight", kRecurrentWidth, mixed);
        for (size_t c = 0; c < x.size(); ++c) x[c] += product[c];
        const Vector normed = norm("blk.0.ffn_norm.weight", x),
                     gate = times("blk.1.ffn_gate.weight", kRecurrentWidth, normed),
                     candidate = times("blk.1.attn_v.weight", kRecurrentWidth, normed);
        for (size_t c = 0; c < x.size(); ++c) {
            const double keep = 1 / (1 + std::exp(-gate[c]));
            hidden_[c] = keep * hidden_[c] + (1 - keep) * candidate[c];
            x[c] += hidden_[c];
        }
        return times("output.weight", kRecurrentVocab, x);
    }

private:
    Vector read(const char* name, size_t n) const {
        std::vector<float> floats(n);
        REQUIRE(weights_.read(name, 0, std::as_writable_bytes(std::span(floats))).ok());
        return {floats.begin(), floats.end()};
    }
    Vector norm(const char* name, const Vector& x) const {
        const Vector weight = read(name, x.size());
        double sum = 0;
        for (const double value : x) sum += value * value;
        const double rms = std::sqrt(sum / static_cast<double>(x.size()) + 1e-5);
        Vector out(x.size());
        for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] / rms * weight[i];
        return out;
    }
    Vector times(const char* name, size_t n_rows, const Vector& x) const {
        const Vector weight = read(name, n_rows * x.size());
        Vector out(n_rows, 0.0);
        for (size_t r = 0; r < n_rows; ++r) {
            for (size_t i = 0; i < x.size(); ++i) out[r] += weight[r * x.size() + i] * x[i];
        }
        return out;
    }

    const RandomWeights& weights_;
    std::vector<Vector> inputs_;
    Vector hidden_ = Vector(kRecurrentWidth, 0.0);
};

}  // namespace

TEST_CASE("short_conv and gated_recurrence agree with plain loops over doubles, in any chunks") {
    const std::vector<int32_t> tokens = recurrent_tokens(60);
    for (const size_t chunk : {60u, 1u, 7u, 17u, 18u}) {
        Compiled compiled(recurrent_program(false));
        const std::vector<float> logits = compiled.logits(1, tokens, chunk);
        Loops loops(compiled.weights);
        double worst = 0;
        for (size_t i = 0; i < tokens.size(); ++i) {
            const Vector expected = loops.next(tokens[i]);
            for (size_t id = 0; id < expected.size(); ++id)
                worst = std::max(worst, std::abs(expected[id] - logits[i * expected.size() + id]));
        }
        CAPTURE(chunk, worst);
        CHECK(worst < 1e-4);
    }
}

TEST_CASE("recurrent rows have the same bits in any chunks and beside any others") {
    const std::vector<int32_t> tokens = recurrent_tokens(70), others = recurrent_tokens(30, 1);
    const std::vector<float> whole = Compiled().logits(1, tokens, 70),
                             other = Compiled().logits(1, others, 30);
    for (const size_t chunk : {1u, 16u, 17u, 33u}) CHECK(Compiled().logits(1, tokens, chunk) == whole);

    ThreadPool pool(2);
    Compiled together(recurrent_program(), 2, &pool);
    std::vector<float> mixed;
    for (size_t i = 0; i < 10; ++i) {
        const StepDriver::Chunk chunks[] = {{8, std::span(others).subspan(i * 3, 3)},
                                            {9, std::span(tokens).subspan(i * 7, 7)}};
        const Result<StepOutput> output = together.driver->step(chunks);
        INFO(output.status().message());
        REQUIRE(output.ok());
        const size_t n_first = 3 * size_t{kRecurrentVocab};
        const std::span<const float> expected = std::span(other).subspan(i * n_first, n_first);
        CHECK(std::ranges::equal(output->logits.first(n_first), expected));
        mixed.insert(mixed.end(), output->logits.begin() + static_cast<std::ptrdiff_t>(n_first),
                     output->logits.end());
    }
    CHECK(mixed == whole);
}

TEST_CASE("rows that are left out leave no trace") {
    const std::vector<int32_t> tokens = recurrent_tokens(70), wrong = recurrent_tokens(70, 3);
    const std::vector<float> whole = Compiled().logits(1, tokens, 70);
    std::mt19937 random(3);
    for (int round = 0; round < 8; ++round) {
        Compiled compiled;
        std::vector<float> logits;
        for (size_t at = 0; at < tokens.size();) {
            const size_t n_right = std::min<size_t>(tokens.size() - at, random() % 24);
            const auto n_wrong =
                static_cast<uint32_t>(random() % (std::min<size_t>(kMaxUndoneRows, 90 - at - n_right) + 1));
            if (n_right + n_wrong == 0) continue;
            std::vector<int32_t> rows(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                      tokens.begin() + static_cast<std::ptrdiff_t>(at + n_right));
            rows.insert(rows.end(), wrong.begin(), wrong.begin() + n_wrong);
            const StepDriver::Chunk chunk{1, rows};
            const Result<StepOutput> output = compiled.driver->step({&chunk, 1}, n_wrong);
            INFO(output.status().message());
            REQUIRE(output.ok());
            logits.insert(logits.end(), output->logits.begin(),
                          output->logits.begin() + static_cast<std::ptrdiff_t>(n_right * kRecurrentVocab));
            at += n_right;
        }
        CHECK(logits == whole);
    }
}

TEST_CASE("a run that is not committed changes no slot, and too many rows can't be left out") {
    Compiled compiled;
    const std::vector<int32_t> tokens = recurrent_tokens(20);
    compiled.logits(1, tokens, 20);
    const uint32_t slot = compiled.slot(1);
    const std::vector<float> conv = compiled.state(0, slot), hidden = compiled.state(1, slot);
    const StepDriver::Chunk chunk{1, tokens};
    const Result<StepOutput> output = compiled.driver->step({&chunk, 1}, kMaxUndoneRows + 1);
    CHECK(output.status().message() ==
          "Sequence 1: 17 of 20 rows are left out, recurrent state goes back 16.");
    CHECK(compiled.state(0, slot) == conv);
    CHECK(compiled.state(1, slot) == hidden);
}

TEST_CASE("a copied slot goes on like its source, and so does one that was read and written") {
    const std::vector<int32_t> tokens = recurrent_tokens(40);
    const auto program = recurrent_program(false);  // no pages to bring along
    Compiled compiled(program, 3);
    const std::vector<float> whole = compiled.logits(1, tokens, 40);
    compiled.logits(2, std::span(tokens).first(25), 25);
    compiled.driver->receive(3, 25);
    const uint32_t from = compiled.slot(2), to = compiled.slot(3);
    const std::vector<float> conv = compiled.state(0, from), hidden = compiled.state(1, from);
    const auto rest = std::span(whole).subspan(size_t{25} * kRecurrentVocab);
    SECTION("copied") {
        REQUIRE(compiled.executable->copy_page(0, from, to).ok());
    }
    SECTION("written in two parts") {
        const auto bytes = std::as_bytes(std::span(conv));
        REQUIRE(compiled.executable->write_recurrent({{0}, to, 0, 100}, bytes.first(400)).ok());
        REQUIRE(compiled.executable->write_recurrent({{0}, to, 100, 92}, bytes.subspan(400)).ok());
        REQUIRE(
            compiled.executable->write_recurrent({{1}, to, 0, 64}, std::as_bytes(std::span(hidden))).ok());
    }
    CHECK(std::ranges::equal(compiled.logits(3, std::span(tokens).subspan(25), 4), rest));
    CHECK(std::ranges::equal(compiled.logits(2, std::span(tokens).subspan(25), 9), rest));
}

TEST_CASE("slots that are wrong are named") {
    Compiled compiled(recurrent_program(), 3);
    const std::vector<int32_t> tokens = recurrent_tokens(2);
    const OutputWanted wanted[] = {OutputWanted::logits, OutputWanted::logits};
    const uint32_t pages[] = {0, 1}, many[] = {0, 1}, far[] = {4000};
    const auto message = [&](BlockTable first, BlockTable second) {
        const BlockTable a[] = {BlockTable(pages).first(1), first, BlockTable(pages).first(1)},
                         b[] = {BlockTable(pages).subspan(1), second, BlockTable(pages).subspan(1)};
        const BatchSequence sequences[] = {{4, 0, 1, 0, a}, {5, 1, 1, 0, b}};
        return compiled.executable->run({tokens, wanted, sequences}).status().message();
    };
    const BlockTable one(many, 1), other(many + 1, 1);
    CHECK(message(one, other).empty());
    CHECK(message(many, other) ==
          "Sequence 4: the block table of group recurrent has 2 entries, must be one slot.");
    CHECK(message(one, far) == "Sequence 5: its slot of group recurrent is 4000, the group has 18.");
    CHECK(message(one, one) == "Sequences 4 and 5 both have slot 0 of group recurrent.");

    std::vector<std::byte> bytes(40);
    const auto read = [&](const RecurrentRange& range) {
        return compiled.executable->read_recurrent(range, bytes).message();
    };
    CHECK(read({{2}, 0, 0, 10}) == "Recurrent state 2 doesn't exist, the program has 2.");
    CHECK(read({{1}, 18, 0, 10}) == "State hidden: slot 18 is asked for, the group has 18.");
    CHECK(read({{1}, 0, 60, 10}) == "State hidden: 10 floats from 60 on are asked for, it has 64.");
    CHECK(read({{1}, 0, 0, 0}) == "State hidden: 0 floats from 0 on are asked for, it has 64.");
    CHECK(read({{1}, 0, 0, 11}) == "State hidden: 11 floats take 44 bytes, not 40.");
    CHECK(read({{1}, 17, 54, 10}).empty());
}

TEST_CASE("a backend without recurrent state refuses the program by op and state") {
    for (const TestedBackend& tested : backends_under_test()) {
        if (tested.label == "reference") continue;
        CHECK(tested.backend->supports(*recurrent_program()).message() ==
              "The cpu backend can't run short_conv: conv is recurrent state.");
    }
}

TEST_CASE("the plan of a program with recurrent state is what its executable holds") {
    const Compiled compiled;
    const MemoryPlan plan = compiled.backend->plan(*compiled.program, compiled.options).value(),
                     held = compiled.executable->memory();
    CHECK(plan.state_bytes == held.state_bytes);
    CHECK(plan.scratch_bytes == held.scratch_bytes);
    CHECK(plan.weight_bytes == held.weight_bytes);
}
