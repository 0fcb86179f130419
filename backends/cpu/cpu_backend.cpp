// From a program to an executable on this machine's kernels.
#include "cpu/cpu_backend.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/step_batch_check.h"
#include "cpu/cpu_executable.h"
#include "cpu/cpu_limits.h"
#include "cpu/cpu_weights.h"
#include "cpu/kernels/kernel_choice.h"
#include "cpu/kernels/pack_panels.h"
#include "cpu/kernels/row_kernel_check.h"
#include "cpu/onednn_matmul.h"
#include "create/create.h"

namespace takt {
namespace cpu {
namespace {

// Panels are the same on every ISA, so executables of two ISAs share them.
constexpr const char* kLayout = "panels of 16 rows";

Status refuse(const Op& op, std::string_view why) {
    return Status(StatusCode::model_unsupported,
                  fmt::format("The cpu backend can't run {}: {}.", op_name(op), why));
}

struct CheckOp {
    const Program& program;
    const Op& op;

    Status packable(WeightId id) const {
        const WeightDecl& weight = program.weight(id);
        const Result<uint64_t> bytes = PackedMatrix::packed_bytes(weight.dtype, weight.rows, weight.columns);
        if (bytes.ok()) return {};
        return refuse(op, fmt::format("{} of type {}: {}", weight.name, dtype_info(weight.dtype).name,
                                      bytes.status().message()));
    }
    Status operator()(const EmbedOp& embed) const { return packable(embed.table); }
    Status operator()(const MatmulOp& matmul) const { return packable(matmul.weight); }
    Status operator()(const PositionEmbedOp& embed) const { return packable(embed.table); }
    Status operator()(const AttentionOp& attention) const {
        return attention.bidirectional ? refuse(op, "it looks ahead") : Status();
    }
    // A panel must not hold rows of two experts.
    Status operator()(const ExpertFfnOp& experts) const {
        const uint32_t ffn = program.weight(experts.down).columns, width = program.value(experts.out).width;
        if (ffn % kPanelRows != 0 || width % kPanelRows != 0) {
            return refuse(op, fmt::format("experts are {} and {} wide, must be multiples of {}", ffn, width,
                                          kPanelRows));
        }
        const auto dense = [this](WeightId id) { return !is_block_quantized(program.weight(id).dtype); };
        if (dense(experts.gate) != dense(experts.up))
            return refuse(op, "gate and up are of different kinds of types");
        for (const WeightId id : {experts.gate, experts.up, experts.down}) TAKT_RETURN_IF_ERROR(packable(id));
        return {};
    }
    Status operator()(const ShortConvOp& conv) const { return recurrent(conv.state); }
    Status operator()(const GatedDeltaOp& delta) const { return recurrent(delta.state); }
    Status operator()(const GatedRecurrenceOp& recurrence) const { return recurrent(recurrence.state); }
    Status recurrent(RecurrentStateId id) const {
        return refuse(op, fmt::format("{} is recurrent state", program.state(id).name));
    }
    Status operator()(const auto&) const { return {}; }
};

}  // namespace

Result<std::unique_ptr<Backend>> CpuBackend::create(const BackendContext& context) {
    const Result<IsaLevel> level = choose_isa(context.isa_cap);
    if (!level.ok()) return level.status();
    std::unique_ptr<CpuBackend> backend(new CpuBackend());
    backend->pool_ = context.pool;
    if (!context.pool) {
        backend->own_pool_ = std::make_unique<ThreadPool>(1);
        backend->pool_ = backend->own_pool_.get();
    }
    backend->logger_ = context.logger;
    backend->level_ = *level;
    std::vector<std::string> replaced;
    backend->kernels_ = make_checked_kernel_table(*level, replaced);
    replace_failing_row_kernels(*level, backend->kernels_, replaced);
    for (const std::string& sentence : replaced) {
        if (context.logger) context.logger->log(LogLevel::warning, sentence);
    }
    backend->device_.name = cpu_brand_name();
    if (backend->device_.name.empty()) backend->device_.name = "CPU";
    backend->device_.isa = isa_name(*level);
    for (const IsaLevel available : available_isa_levels())
        backend->device_.isa_levels.emplace_back(isa_name(available));
    return std::unique_ptr<Backend>(std::move(backend));
}

Status CpuBackend::supports(const Program& program) const {
    for (const Op& op : program.ops) TAKT_RETURN_IF_ERROR(std::visit(CheckOp{program, op}, op));
    return {};
}

Result<std::shared_ptr<const PackedWeights>> CpuBackend::load_weights(const Program& program,
                                                                      const WeightSource& source,
                                                                      WeightStore& store,
                                                                      const LoadOptions& options) {
    TAKT_RETURN_IF_ERROR(supports(program));
    return store.get_or_make({"cpu", source.instance(), kLayout},
                             [&] { return CpuWeights::load(program, source, *pool_, options, logger_); });
}

MemoryShape CpuBackend::memory_shape(const Program& program, const CompileOptions& options) const {
    MemoryShape shape{pool_->n_threads(), 0};
    if (options.deterministic) return shape;
    for (const Op& op : program.ops) {
        const auto* matmul = std::get_if<MatmulOp>(&op);
        if (!matmul) continue;
        const WeightDecl& weight = program.weight(matmul->weight);
        if (onednn_least_rows(level_, packed_kind(weight.dtype)) != 0)
            shape.onednn_columns = std::max(shape.onednn_columns, weight.columns);
    }
    return shape;
}

Result<MemoryPlan> CpuBackend::plan(const Program& program, const CompileOptions& options) const {
    TAKT_RETURN_IF_ERROR(check_compile_options(program, options));
    TAKT_RETURN_IF_ERROR(supports(program));
    const Result<uint64_t> weight_bytes = CpuWeights::planned_bytes(program);
    if (!weight_bytes.ok()) return weight_bytes.status();
    Result<MemoryPlan> plan =
        CpuMemory::plan(program, make_step_plan(program), options, memory_shape(program, options));
    if (plan.ok()) plan->weight_bytes = *weight_bytes;
    return plan;
}

Result<std::unique_ptr<Executable>> CpuBackend::compile(std::shared_ptr<const Program> program,
                                                        std::shared_ptr<const PackedWeights> weights,
                                                        const CompileOptions& options) {
    TAKT_RETURN_IF_ERROR(check_compile_options(*program, options));
    TAKT_RETURN_IF_ERROR(supports(*program));
    auto own = std::dynamic_pointer_cast<const CpuWeights>(std::move(weights));
    if (!own) return Status(StatusCode::invalid_argument, "The weights were not loaded by the cpu backend.");
    StepPlan steps = make_step_plan(*program);
    Result<CpuMemory> memory = CpuMemory::allocate(*program, steps, options, memory_shape(*program, options));
    if (!memory.ok()) return memory.status();
    return std::unique_ptr<Executable>(
        std::make_unique<CpuExecutable>(std::move(program), std::move(own), options, kernels_, level_,
                                        std::move(steps), std::move(*memory), *pool_));
}

Result<DeviceLimits> CpuBackend::measure_limits(uint64_t working_set_bytes, uint32_t n_rows,
                                                ProductShape product) {
    return cpu::measure_limits(kernels_, *pool_, working_set_bytes, n_rows, product);
}

std::vector<KernelChoice> CpuBackend::choices(const Program& program) const {
    std::vector<KernelChoice> choices;
    for (const Op& op : program.ops) {
        const auto* matmul = std::get_if<MatmulOp>(&op);
        if (matmul == nullptr) continue;
        const DType dtype = program.weight(matmul->weight).dtype;
        const std::string_view what = dtype_info(dtype).name;
        if (std::ranges::find(choices, what, &KernelChoice::what) != choices.end()) continue;
        const uint32_t least_rows = onednn_least_rows(level_, packed_kind(dtype));
        std::string kernel = device_.isa;
        if (const WeightForm form = weight_form(dtype); form.runs_as != what)
            kernel += fmt::format("; as {}, {}", form.runs_as, form.precision);
        if (least_rows != 0) kernel += fmt::format("; oneDNN from {} rows on", least_rows);
        choices.push_back({std::string(what), std::move(kernel)});
    }
    return choices;
}

WeightForm CpuBackend::weight_form(DType dtype) const {
    const PackedForm& form = packed_form(dtype);
    return {dtype_info(form.stored).name, precision_name(form.precision)};
}

}  // namespace cpu

Result<std::unique_ptr<Backend>> create_cpu_backend(const BackendContext& context) {
    return cpu::CpuBackend::create(context);
}

}  // namespace takt
