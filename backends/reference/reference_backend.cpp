// The oracle of all other backends: every op, float32, one row at a time. No cleverness.
#include "backend/step_batch_check.h"
#include "create/create.h"
#include "reference/reference_executable.h"

namespace takt {
namespace reference {
namespace {

class ReferenceBackend final : public Backend {
public:
    explicit ReferenceBackend(ThreadPool* pool) : pool_(pool) { device_.name = "reference (float32)"; }

    std::string_view name() const override { return "reference"; }
    const DeviceInfo& device_info() const override { return device_; }
    Status supports(const Program&) const override { return {}; }

    Result<std::shared_ptr<const PackedWeights>> load_weights(const Program& program,
                                                              const WeightSource& source, WeightStore& store,
                                                              const LoadOptions& options) override {
        return store.get_or_make({"reference", source.instance(), "f32"},
                                 [&] { return ReferenceWeights::load(program, source, options.progress); });
    }

    Result<MemoryPlan> plan(const Program& program, const CompileOptions& options) const override {
        TAKT_RETURN_IF_ERROR(check_compile_options(program, options));
        MemoryPlan plan = ReferenceMemory::plan(program, options, n_threads());
        plan.weight_bytes = float_bytes(program);
        return plan;
    }

    Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Program> program,
                                                std::shared_ptr<const PackedWeights> weights,
                                                const CompileOptions& options) override {
        TAKT_RETURN_IF_ERROR(check_compile_options(*program, options));
        auto own = std::dynamic_pointer_cast<const ReferenceWeights>(std::move(weights));
        if (!own)
            return Status(StatusCode::invalid_argument,
                          "The weights were not loaded by the reference backend.");
        Result<ReferenceMemory> memory = ReferenceMemory::allocate(*program, options, n_threads());
        if (!memory.ok()) return memory.status();
        return std::unique_ptr<Executable>(std::make_unique<ReferenceExecutable>(
            std::move(program), std::move(own), options, std::move(*memory), pool_));
    }

private:
    uint32_t n_threads() const { return pool_ ? pool_->n_threads() : 1; }

    ThreadPool* pool_;
    DeviceInfo device_;
};

}  // namespace
}  // namespace reference

Result<std::unique_ptr<Backend>> create_reference_backend(const BackendContext& context) {
    return std::unique_ptr<Backend>(std::make_unique<reference::ReferenceBackend>(context.pool));
}

}  // namespace takt
