// A fork has the logits' bits and the tokens of a request that begins with its tokens, on every backend.
#include <cstring>

#include "recording_backend.h"
#include "tiny_models.h"

namespace takt {
namespace {

using namespace takt::test;

RequestOptions sampled(std::vector<int32_t> prompt, uint32_t max_tokens, uint64_t seed,
                       std::vector<int32_t>& out) {
    RequestOptions options;
    options.prompt_ids = std::move(prompt);
    options.max_tokens = max_tokens;
    options.ignore_eos = true;
    options.sampler.temperature = 0.8f;  // wants logits, so that they can be compared
    options.sampler.seed = seed;
    options.on_event = [&out](const Event& event) {
        if (event.type == EventType::token) out.push_back(event.token_id);
        return true;
    };
    return options;
}

struct Alone {
    std::vector<int32_t> ids;
    std::map<uint32_t, std::vector<float>> rows;  // by position
};

std::map<uint32_t, std::vector<float>> rows_of(const Bits& bits, uint64_t sequence) {
    std::map<uint32_t, std::vector<float>> rows;
    for (const auto& [key, row] : bits) {
        if (key.first == sequence) rows[key.second] = row;
    }
    return rows;
}

bool same_bits(const std::map<uint32_t, std::vector<float>>& a,
               const std::map<uint32_t, std::vector<float>>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.first == y.first && x.second.size() == y.second.size() &&
               std::memcmp(x.second.data(), y.second.data(), x.second.size() * sizeof(float)) == 0;
    });
}

// Forks of a kept request at several places and of the running first fork, all at once; each beside a request
// of its own in an engine that shares nothing.
void check_forks(const std::shared_ptr<const Model>& model, const std::vector<int32_t>& prompt,
                 std::string_view backend, std::optional<DType> kv_dtype) {
    EngineOptions options;
    options.context_tokens = 160;
    options.prefix_reuse = false;
    options.kv_dtype = kv_dtype;
    options.chunk_tokens = 48;
    Bits forked, plain;
    std::shared_ptr<Runtime> host;
    const auto engine = make_recording_engine(model, options, forked, host, 2, backend);
    const auto other = make_recording_engine(model, options, plain, host, 2, backend);
    std::vector<int32_t> said;
    RequestOptions begin = sampled(prompt, 20, 1, said);
    begin.keep_state = true;
    const auto source = engine->submit(begin);
    REQUIRE((*source)->wait(UINT64_MAX).ok());
    const auto n_all = static_cast<uint32_t>(prompt.size()) + 20;
    const std::vector<uint32_t> places = {n_all, n_all - 5, n_all - 21, n_all};
    std::vector<std::vector<int32_t>> ids(places.size());
    std::vector<std::unique_ptr<Request>> forks;
    for (size_t i = 0; i < places.size(); ++i) {
        auto fork = engine->fork(**source, sampled({}, 12, 10 + i, ids[i]), places[i]);
        INFO(fork.status().message());
        REQUIRE(fork.ok());
        forks.push_back(std::move(*fork));
    }
    for (auto& fork : forks) REQUIRE(fork->wait(UINT64_MAX).ok());
    for (size_t i = 0; i < places.size(); ++i) {
        INFO("fork at " << places[i]);
        std::vector<int32_t> all = prompt, alone;
        all.insert(all.end(), said.begin(), said.end());
        all.resize(places[i]);
        auto request = other->submit(sampled(all, 12, 10 + i, alone));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK(ids[i] == alone);
        CHECK(ids[i].size() == 12);
        const auto rows = rows_of(plain, i + 1);
        CHECK(rows.size() == 12);
        CHECK(same_bits(rows_of(forked, i + 2), rows));
    }
    CHECK(forks[0]->timing().cached_tokens == n_all - 1);
}

}  // namespace

TEST_CASE("forks have the bits of requests of their own, in tiny models on every backend") {
    const auto model = load_tiny(GENERATE("llama", "gemma3"));
    const char* const backend = GENERATE("cpu", "reference");
    const auto kv_dtype = GENERATE(std::optional<DType>(), std::optional<DType>(DType::f32));
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < 70; ++i) prompt.push_back(1 + i * 7 % 90);
    check_forks(model, prompt, backend, kv_dtype);
}

TEST_CASE("forks have the bits of requests of their own, in real models") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::begin(kRealModels) + 3));
    const DType kv_dtype = GENERATE(DType::f16, DType::q8_0);
    if (kv_dtype == DType::q8_0 && name == kRealModels[2]) return;  // the smaller ones speak for it
    const auto model = load_real_model(name);
    if (!model) return;
    std::string text;
    for (int i = 0; i < 12; ++i) text += "Line " + std::to_string(i * 37) + " of the book. ";
    auto ids = model->tokenizer()->encode(text, {});
    REQUIRE(ids.ok());
    ids->resize(std::min<size_t>(ids->size(), 90));
    check_forks(model, *ids, "cpu", kv_dtype);
}

}  // namespace takt
