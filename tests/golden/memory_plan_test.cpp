// What is planned before a load is what the load then takes, counted by the allocator and over the buffers.
#include <sys/mman.h>

#include <array>
#include <mutex>

#include "golden_engine.h"
#include "temporary_folder.h"
#include "tiny_models.h"

// The program is linked with --wrap for these: takt's buffers are the only ones that ask here.
extern "C" {
void* __real_calloc(size_t n, size_t size);
void __real_free(void* block);
void* __real_mmap(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset);
}

namespace {

// Blocks that live, in a list that allocates nothing itself.
class Ledger {
public:
    void begin() {
        const std::lock_guard lock(mutex_);
        counts_ = true;
        n_blocks_ = mapped_bytes_ = 0;
    }
    void end() {
        const std::lock_guard lock(mutex_);
        counts_ = false;
    }
    void add(void* block, size_t bytes) {
        const std::lock_guard lock(mutex_);
        if (!counts_ || block == nullptr || n_blocks_ == blocks_.size()) return;
        blocks_[n_blocks_++] = {block, bytes};
    }
    void remove(void* block) {
        const std::lock_guard lock(mutex_);
        for (size_t i = 0; counts_ && i < n_blocks_; ++i) {
            if (blocks_[i].first == block) blocks_[i] = blocks_[--n_blocks_];
        }
    }
    void map(size_t bytes) {
        const std::lock_guard lock(mutex_);
        if (counts_) mapped_bytes_ += bytes;
    }
    uint64_t mapped_bytes() const { return mapped_bytes_; }
    // Of a buffer the allocator gives 72 bytes more: a pointer and the room to align it.
    uint64_t buffer_bytes() const {
        uint64_t total = 0;
        for (size_t i = 0; i < n_blocks_; ++i) total += blocks_[i].second - 72;
        return total;
    }

private:
    std::mutex mutex_;
    bool counts_ = false;
    size_t n_blocks_ = 0, mapped_bytes_ = 0;
    std::array<std::pair<void*, size_t>, 4096> blocks_{};
};

Ledger ledger;

}  // namespace

extern "C" void* __wrap_calloc(size_t n, size_t size) {
    void* const block = __real_calloc(n, size);
    ledger.add(block, n * size);
    return block;
}
extern "C" void __wrap_free(void* block) {
    ledger.remove(block);
    __real_free(block);
}
extern "C" void* __wrap_mmap(void* address, size_t bytes, int protection, int flags, int descriptor,
                             off_t offset) {
    ledger.map(bytes);
    return __real_mmap(address, bytes, protection, flags, descriptor, offset);
}

namespace takt {
namespace {

using namespace takt::test;

constexpr uint64_t kHugePage = uint64_t{2} << 20;  // mapped weights are moved up to a whole one

std::shared_ptr<Engine> create(const std::shared_ptr<Runtime>& runtime, std::shared_ptr<const Model> model,
                               const EngineOptions& options) {
    auto engine = Engine::create(runtime, std::move(model), options);
    INFO(engine.status().message());
    REQUIRE(engine.ok());
    return *engine;
}

std::shared_ptr<Runtime> make_runtime(uint32_t n_threads) {
    RuntimeOptions options;
    options.n_threads = n_threads;
    auto runtime = Runtime::create(options);
    REQUIRE(runtime.ok());
    return *runtime;
}

void check_equal(const MemoryPlan& plan, const MemoryPlan& held) {
    CHECK(plan.weight_bytes == held.weight_bytes);
    CHECK(plan.state_bytes == held.state_bytes);
    CHECK(plan.scratch_bytes == held.scratch_bytes);
}

std::vector<EngineOptions> several_options(bool heads_fit_q8, uint32_t context) {
    std::vector<EngineOptions> all(6);
    all[1].context_tokens = context / 2 + 1;
    all[1].max_sequences = 3;
    all[2].chunk_tokens = 7;
    all[2].page_tokens = 16;
    all[2].kv_dtype = DType::f32;
    all[3].kv_tokens = context + 100;
    all[3].page_tokens = 64;
    all[4].deterministic = true;
    all[4].kv_dtype = heads_fit_q8 ? DType::q8_0 : DType::f16;
    all[5].max_sequences = 70;  // more than the rows of a chunk
    all[5].chunk_tokens = 16;
    return all;
}

bool heads_fit_q8(const Model& model) {
    for (const KvStateDecl& state : model.program()->states) {
        if (state.key_dim % 32 != 0 || state.value_dim % 32 != 0) return false;
    }
    return true;
}

// Plans before anything is loaded; then loads, and loads again beside the weights that are there.
void check_plans(const std::shared_ptr<const Model>& model, const std::string& backend, uint32_t n_threads) {
    const auto runtime = make_runtime(n_threads);
    std::shared_ptr<Engine> first;
    const uint32_t context = std::min(4096u, model->config().context_tokens);
    for (EngineOptions options : several_options(heads_fit_q8(*model), context)) {
        options.backend = backend;
        const auto plan = Engine::plan(*runtime, *model, options);
        INFO(backend << ": " << plan.status().message());
        REQUIRE(plan.ok());
        ledger.begin();
        const auto engine = create(runtime, model, options);
        ledger.end();
        check_equal(plan->memory, engine->memory());
        const uint64_t buffers = plan->memory.state_bytes + plan->memory.scratch_bytes;
        if (first) {
            CHECK(ledger.buffer_bytes() == buffers);
            CHECK(ledger.mapped_bytes() == 0);
        } else if (backend == "cpu") {
            CHECK(ledger.buffer_bytes() == buffers);
            CHECK(ledger.mapped_bytes() == plan->memory.weight_bytes + kHugePage);
        } else {
            CHECK(ledger.buffer_bytes() == plan->memory.total_bytes());
        }
        if (!first) first = engine;
    }
}

}  // namespace

TEST_CASE("the plan of every tiny model is what its load takes, to the byte") {
    std::vector<std::string> names(std::begin(kTinyFamilies), std::end(kTinyFamilies));
    names.insert(names.end(), std::begin(kTinyQuants), std::end(kTinyQuants));
    for (const std::string& name : names) {
        INFO(name);
        for (const char* backend : {"cpu", "reference"}) {
            for (const uint32_t n_threads : {1u, 2u}) check_plans(load_tiny(name), backend, n_threads);
        }
    }
}

TEST_CASE("the plan of every real model is what its load takes, to the byte") {
    for (const std::string name : kRealModels) {
        const auto model = load_real_model(name);
        if (!model) continue;
        INFO(name);
        check_plans(model, "cpu", 2);
        if (name != kRealModels[3]) check_plans(model, "reference", 2);  // 6 GB as float32
    }
}

TEST_CASE("weights that are mapped from a packed cache are as many as planned") {
    const auto model = load_tiny("quant-q4_k_m");
    const TemporaryFolder folder;
    EngineOptions options;
    options.backend = "cpu";
    options.packed_cache_dir = folder.file("packed");
    for (int load = 0; load < 2; ++load) {  // the first writes it
        const auto runtime = make_runtime(2);
        const auto plan = Engine::plan(*runtime, *model, options);
        REQUIRE(plan.ok());
        ledger.begin();
        const auto engine = create(runtime, model, options);
        ledger.end();
        check_equal(plan->memory, engine->memory());
        CHECK(ledger.buffer_bytes() == plan->memory.state_bytes + plan->memory.scratch_bytes);
    }
}

TEST_CASE("what is generated takes no further buffer") {
    const auto runtime = make_runtime(2);
    for (const char* backend : {"cpu", "reference"}) {
        EngineOptions options;
        options.backend = backend;
        const auto engine = create(runtime, load_tiny("gemma3"), options);
        RequestOptions request;
        for (int32_t i = 0; i < 100; ++i) request.prompt_ids.push_back(i);
        request.max_tokens = 20;
        request.ignore_eos = true;
        ledger.begin();
        REQUIRE(engine->generate(request).ok());
        ledger.end();
        CHECK(ledger.buffer_bytes() == 0);
        CHECK(ledger.mapped_bytes() == 0);
    }
}

}  // namespace takt
