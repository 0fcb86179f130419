// The CPU backend: picks kernels for this machine, loads and packs weights, compiles programs.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "cpu/cpu_features.h"
#include "cpu/cpu_memory.h"
#include "cpu/kernels/kernel_table.h"

namespace takt::cpu {

class CpuBackend final : public Backend {
public:
    // Checks every kernel with known answers; one that fails is replaced by a slower sibling, and the logger
    // hears of it.
    static Result<std::unique_ptr<Backend>> create(const BackendContext& context);

    std::string_view name() const override { return "cpu"; }
    const DeviceInfo& device_info() const override { return device_; }
    Status supports(const Program& program) const override;
    Result<std::shared_ptr<const PackedWeights>> load_weights(const Program& program,
                                                              const WeightSource& source, WeightStore& store,
                                                              const LoadOptions& options) override;
    Result<MemoryPlan> plan(const Program& program, const CompileOptions& options) const override;
    Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Program> program,
                                                std::shared_ptr<const PackedWeights> weights,
                                                const CompileOptions& options) override;
    std::vector<KernelChoice> choices(const Program& program) const override;
    WeightForm weight_form(DType dtype) const override;
    Result<DeviceLimits> measure_limits(uint64_t working_set_bytes, uint32_t n_rows,
                                        ProductShape product) override;

private:
    CpuBackend() = default;
    MemoryShape memory_shape(const Program& program, const CompileOptions& options) const;

    std::unique_ptr<ThreadPool> own_pool_;  // where the context has none
    ThreadPool* pool_ = nullptr;
    const Logger* logger_ = nullptr;
    KernelTable kernels_{};
    IsaLevel level_ = IsaLevel::scalar;
    DeviceInfo device_;
};

}  // namespace takt::cpu
