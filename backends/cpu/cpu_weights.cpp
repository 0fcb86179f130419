// Which form each weight takes follows from the ops that read it.
#include "cpu/cpu_weights.h"

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "base/checked_math.h"
#include "tensor/dequantize.h"

namespace takt::cpu {
namespace {

struct Use {
    bool matrix = false, vector = false;
};

struct MarkUses {
    std::vector<Use>& uses;
    void matrix(WeightId id) const { uses[id.index].matrix = true; }
    void vector(WeightId id) const {
        if (id.valid()) uses[id.index].vector = true;
    }
    void operator()(const EmbedOp& op) const { matrix(op.table); }
    void operator()(const RmsNormOp& op) const { vector(op.weight); }
    void operator()(const MatmulOp& op) const {
        matrix(op.weight);
        vector(op.bias);
    }
    void operator()(const RopeOp& op) const { vector(op.factors); }
    void operator()(const auto&) const {}
};

std::vector<Use> uses_of(const Program& program) {
    std::vector<Use> uses(program.weights.size());
    for (const Op& op : program.ops) std::visit(MarkUses{uses}, op);
    return uses;
}

Result<PackedMatrix> load_matrix(const WeightDecl& weight, const WeightSource& source, ThreadPool& pool,
                                 LoadMeter& meter) {
    const uint64_t bytes_per_row = row_bytes(weight.dtype, weight.columns);
    const auto read = [&](uint64_t first_row, uint32_t, std::span<std::byte> out) -> Status {
        TAKT_RETURN_IF_ERROR(source.read(weight.name, first_row * bytes_per_row, out));
        return meter.advance(out.size());
    };
    Result<PackedMatrix> matrix = PackedMatrix::pack(weight.dtype, weight.rows, weight.columns, read, pool);
    if (!matrix.ok() && matrix.status().code() == StatusCode::out_of_memory)
        return matrix.status().with_context("Loading " + weight.name);
    return matrix;
}

Result<AlignedBuffer> load_vector(const WeightDecl& weight, const WeightSource& source, LoadMeter& meter) {
    const uint64_t n_values = uint64_t{weight.rows} * weight.columns;
    Result<AlignedBuffer> vector = AlignedBuffer::allocate(n_values * sizeof(float));
    Result<AlignedBuffer> bytes = AlignedBuffer::allocate(row_bytes(weight.dtype, n_values));
    if (!vector.ok()) return vector.status().with_context("Loading " + weight.name);
    if (!bytes.ok()) return bytes.status().with_context("Loading " + weight.name);
    TAKT_RETURN_IF_ERROR(source.read(weight.name, 0, bytes->as<std::byte>()));
    dequantize_row(weight.dtype, bytes->as<std::byte>(), vector->as<float>());
    TAKT_RETURN_IF_ERROR(meter.advance(bytes->size_bytes()));
    return vector;
}

}  // namespace

Result<std::shared_ptr<const PackedWeights>> CpuWeights::load(const Program& program,
                                                              const WeightSource& source, ThreadPool& pool,
                                                              const LoadProgress& report) {
    const std::vector<Use> uses = uses_of(program);
    auto weights = std::make_shared<CpuWeights>();
    weights->matrices_.resize(uses.size());
    weights->vectors_.resize(uses.size());
    uint64_t total_bytes = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
        total_bytes += file_bytes(program.weights[i]) * (uint64_t{uses[i].matrix} + uses[i].vector);
    }
    LoadMeter meter(total_bytes, report);
    for (size_t i = 0; i < uses.size(); ++i) {
        if (uses[i].matrix) {
            Result<PackedMatrix> matrix = load_matrix(program.weights[i], source, pool, meter);
            if (!matrix.ok()) return matrix.status();
            weights->matrices_[i] = std::move(*matrix);
        }
        if (uses[i].vector) {
            Result<AlignedBuffer> vector = load_vector(program.weights[i], source, meter);
            if (!vector.ok()) return vector.status();
            weights->vectors_[i] = std::move(*vector);
        }
    }
    return std::shared_ptr<const PackedWeights>(std::move(weights));
}

Result<uint64_t> CpuWeights::planned_bytes(const Program& program) {
    const std::vector<Use> uses = uses_of(program);
    uint64_t total = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
        const WeightDecl& weight = program.weights[i];
        std::optional<uint64_t> bytes = 0;
        if (uses[i].matrix) {
            const Result<uint64_t> packed =
                PackedMatrix::packed_bytes(weight.dtype, weight.rows, weight.columns);
            if (!packed.ok()) return packed.status().with_context(weight.name);
            bytes = *packed;
        }
        if (uses[i].vector)
            bytes = checked_add(*bytes, uint64_t{weight.rows} * weight.columns * sizeof(float));
        if (bytes) bytes = checked_add(total, *bytes);
        if (!bytes)
            return Status(StatusCode::out_of_memory,
                          fmt::format("The weights up to {} don't fit in memory.", weight.name));
        total = *bytes;
    }
    return total;
}

uint64_t CpuWeights::size_bytes() const {
    uint64_t total = 0;
    for (const PackedMatrix& matrix : matrices_) total += matrix.size_bytes();
    for (const AlignedBuffer& vector : vectors_) total += vector.size_bytes();
    return total;
}

}  // namespace takt::cpu
