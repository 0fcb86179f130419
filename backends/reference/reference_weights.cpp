// Reads windows of whole rows, so that the file's form of a tensor is never held entire.
#include "reference/reference_weights.h"

#include <algorithm>

#include "backend/load_meter.h"
#include "backend/weight_rows.h"
#include "tensor/dequantize.h"

namespace takt::reference {
namespace {

constexpr uint64_t kWindowBytes = 4u << 20;

Status load_weight(const WeightDecl& weight, const WeightSource& source, std::span<float> out,
                   std::vector<std::byte>& window, LoadMeter& meter) {
    const uint64_t bytes_per_row = row_bytes(weight.dtype, weight.columns);
    const uint64_t rows_per_window = std::max<uint64_t>(1, kWindowBytes / bytes_per_row);
    for (uint64_t first = 0; first < weight.rows; first += rows_per_window) {
        const uint64_t n_rows = std::min<uint64_t>(rows_per_window, weight.rows - first);
        window.resize(n_rows * bytes_per_row);
        TAKT_RETURN_IF_ERROR(read_rows(source, weight, first, n_rows, window));
        for (uint64_t row = 0; row < n_rows; ++row) {
            dequantize_row(weight.dtype, std::span(window).subspan(row * bytes_per_row, bytes_per_row),
                           out.subspan((first + row) * weight.columns, weight.columns));
        }
        TAKT_RETURN_IF_ERROR(meter.advance(window.size()));
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const PackedWeights>> ReferenceWeights::load(const Program& program,
                                                                    const WeightSource& source,
                                                                    const LoadProgress& report) {
    auto weights = std::make_shared<ReferenceWeights>();
    uint64_t total_bytes = 0;
    for (const WeightDecl& weight : program.weights) total_bytes += file_bytes(weight);
    LoadMeter meter(total_bytes, report);
    std::vector<std::byte> window;
    for (const WeightDecl& weight : program.weights) {
        Result<AlignedBuffer> buffer =
            AlignedBuffer::allocate(uint64_t{weight.rows} * weight.columns * sizeof(float));
        if (!buffer.ok()) return buffer.status().with_context("Loading " + weight.name);
        TAKT_RETURN_IF_ERROR(load_weight(weight, source, buffer->as<float>(), window, meter));
        weights->buffers_.push_back(std::move(*buffer));
    }
    return std::shared_ptr<const PackedWeights>(std::move(weights));
}

uint64_t ReferenceWeights::size_bytes() const {
    uint64_t total = 0;
    for (const AlignedBuffer& buffer : buffers_) total += buffer.size_bytes();
    return total;
}

const float* ReferenceWeights::data(WeightId id) const {
    return id.valid() ? buffers_[id.index].as<float>().data() : nullptr;
}

uint64_t float_bytes(const Program& program) {
    uint64_t total = 0;
    for (const WeightDecl& weight : program.weights)
        total += uint64_t{weight.rows} * weight.columns * sizeof(float);
    return total;
}

}  // namespace takt::reference
