// A backend that keeps the bits of every logits row.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "golden_engine.h"

namespace takt::test {

// Passes everything on to a backend's executable and keeps the bits of every logits row, by sequence and
// position.
using Bits = std::map<std::pair<uint64_t, uint32_t>, std::vector<float>>;

class RecordingExecutable final : public Executable {
public:
    RecordingExecutable(std::unique_ptr<Executable> inner, uint32_t vocab_size, Bits& bits)
        : inner_(std::move(inner)), vocab_size_(vocab_size), bits_(bits) {}

    Result<StepOutput> run(const StepBatch& batch) override {
        auto output = inner_->run(batch);
        if (!output.ok()) return output;
        n_sequences_ = std::max(n_sequences_, batch.sequences.size());
        for (size_t i = 0; i < output->rows.size(); ++i) {
            const uint32_t row = output->rows[i];
            for (const BatchSequence& s : batch.sequences) {
                if (row < s.first_row || row >= s.first_row + s.n_rows) continue;
                const auto logits = output->logits.subspan(i * vocab_size_, vocab_size_);
                bits_[{s.sequence, s.first_position + row - s.first_row}].assign(logits.begin(),
                                                                                 logits.end());
            }
        }
        return output;
    }
    Status commit(uint64_t sequence, uint32_t rows_kept) override {
        return inner_->commit(sequence, rows_kept);
    }
    Status copy_page(uint32_t group, uint32_t from, uint32_t to) override {
        return inner_->copy_page(group, from, to);
    }
    std::optional<DType> kv_dtype() const override { return inner_->kv_dtype(); }
    Status read_state(const StateRange& range, std::span<std::byte> out) override {
        return inner_->read_state(range, out);
    }
    Status write_state(const StateRange& range, std::span<const std::byte> in) override {
        return inner_->write_state(range, in);
    }
    MemoryPlan memory() const override { return inner_->memory(); }

private:
    std::unique_ptr<Executable> inner_;
    uint32_t vocab_size_;
    Bits& bits_;
    size_t n_sequences_ = 0;
};

class RecordingBackend final : public Backend {
public:
    RecordingBackend(Backend& inner, Bits& bits) : inner_(inner), bits_(bits) {}
    std::string_view name() const override { return "recording"; }
    const DeviceInfo& device_info() const override { return inner_.device_info(); }
    Status supports(const Program& program) const override { return inner_.supports(program); }
    Result<std::shared_ptr<const PackedWeights>> load_weights(const Program& program,
                                                              const WeightSource& source, WeightStore& store,
                                                              const LoadOptions& options) override {
        return inner_.load_weights(program, source, store, options);
    }
    Result<MemoryPlan> plan(const Program& program, const CompileOptions& options) const override {
        return inner_.plan(program, options);
    }
    Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Program> program,
                                                std::shared_ptr<const PackedWeights> weights,
                                                const CompileOptions& options) override {
        const uint32_t vocab_size = program->vocab_size;
        auto inner = inner_.compile(std::move(program), std::move(weights), options);
        if (!inner.ok()) return inner.status();
        return std::unique_ptr<Executable>(new RecordingExecutable(std::move(*inner), vocab_size, bits_));
    }

private:
    Backend& inner_;
    Bits& bits_;
};

// An engine of the named backend with its own runtime; the bits outlive it.
inline std::shared_ptr<Engine> make_recording_engine(const std::shared_ptr<const Model>& model,
                                                     const EngineOptions& engine_options, Bits& bits,
                                                     std::shared_ptr<Runtime>& host, uint32_t n_threads = 1,
                                                     std::string_view backend = "cpu") {
    RuntimeOptions options;
    options.n_threads = n_threads;
    if (!host) {
        auto made = Runtime::create(options);
        REQUIRE(made.ok());
        host = *made;
    }
    auto inner = host->find_backend(backend);
    REQUIRE(inner.ok());
    std::vector<BackendEntry> backends;
    backends.push_back({"recording", std::make_unique<RecordingBackend>(**inner, bits), ""});
    auto runtime = Runtime::create(options, std::move(backends));
    REQUIRE(runtime.ok());
    auto engine = Engine::create(*runtime, model, engine_options);
    INFO(engine.status().message());
    REQUIRE(engine.ok());
    return *engine;
}

}  // namespace takt::test
