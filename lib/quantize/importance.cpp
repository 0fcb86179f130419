// Sums of squares, read and written as tensors.
#include "quantize/importance.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/file.h"
#include "gguf/gguf_keys.h"
#include "gguf/gguf_writer.h"

namespace takt {
namespace {

constexpr std::string_view kSquares = ".in_sum2", kCounts = ".counts";

Status invalid(std::string text) {
    return Status(StatusCode::file_invalid, std::move(text));
}

Result<std::vector<double>> read_floats(const GgufFile& file, const GgufTensor& tensor) {
    if (tensor.dtype != DType::f32) {
        return invalid(
            fmt::format("Tensor {} has type {}, must be f32.", tensor.name, dtype_info(tensor.dtype).name));
    }
    std::vector<float> values(tensor.size_bytes / sizeof(float));
    TAKT_RETURN_IF_ERROR(file.read(tensor, 0, std::as_writable_bytes(std::span(values))));
    for (const float value : values) {
        if (!std::isfinite(value) || value < 0)
            return invalid(fmt::format("Tensor {} holds {}, no sum of squares.", tensor.name, value));
    }
    return std::vector<double>(values.begin(), values.end());
}

GgufTensor float_tensor(const std::string& name, uint64_t columns, uint64_t rows) {
    GgufTensor tensor;
    tensor.name = name;
    tensor.dtype = DType::f32;
    tensor.n_dims = 2;
    tensor.dims[0] = columns;
    tensor.dims[1] = rows;
    return tensor;
}

void put_floats(std::span<const double> values, uint64_t offset, std::vector<std::byte>& out) {
    const std::vector<float> floats(values.begin(), values.end());
    const auto bytes = std::as_bytes(std::span(floats));
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

Result<Importance> Importance::read(const std::string& path) {
    Result<std::shared_ptr<const ByteSource>> source = open_file(path);
    if (!source.ok()) return source.status();
    const Result<std::shared_ptr<const GgufFile>> opened = GgufFile::open(*source);
    if (!opened.ok()) return opened.status();
    const GgufFile& file = **opened;
    Importance importance;
    for (const GgufTensor& squares : file.tensors()) {
        if (!squares.name.ends_with(kSquares)) continue;
        const std::string name = squares.name.substr(0, squares.name.size() - kSquares.size());
        const GgufTensor* counts = file.find_tensor(name + std::string(kCounts));
        if (counts == nullptr)
            return invalid(fmt::format("Tensor {} has no {} beside it.", squares.name,
                                       name + std::string(kCounts)))
                .with_context(path);
        Result<std::vector<double>> sums = read_floats(file, squares), numbers = read_floats(file, *counts);
        if (!sums.ok()) return sums.status().with_context(path);
        if (!numbers.ok()) return numbers.status().with_context(path);
        if (numbers->empty() || sums->size() % numbers->size() != 0) {
            return invalid(fmt::format("Tensor {} has {} elements for {} counts.", squares.name, sums->size(),
                                       numbers->size()))
                .with_context(path);
        }
        importance.sums_[name] = {std::move(*sums), std::move(*numbers)};
    }
    if (importance.empty())
        return invalid(
            fmt::format("{}: holds no tensor NAME{}, so it is no importance matrix.", path, kSquares));
    return importance;
}

// The keys are those that the usual engine asks for.
Status Importance::write(const std::string& path, uint32_t window_tokens, uint32_t n_windows) const {
    GgufWriter writer;
    writer.set_text(gguf_keys::kType, "imatrix");
    writer.set_texts("imatrix.datasets", {"takt"});
    writer.set_u32("imatrix.chunk_count", n_windows);
    writer.set_u32("imatrix.chunk_size", window_tokens);
    for (const auto& [name, sums] : sums_) {
        const uint64_t n = sums.counts.size();
        writer.add_tensor(float_tensor(name + std::string(kSquares), sums.squares.size() / n, n));
        writer.add_tensor(float_tensor(name + std::string(kCounts), 1, n));
    }
    std::vector<std::byte> bytes = writer.head();
    bytes.resize(writer.file_bytes());
    size_t at = 0;
    for (const auto& [name, sums] : sums_) {
        put_floats(sums.squares, writer.tensors()[at].offset, bytes);
        put_floats(sums.counts, writer.tensors()[at + 1].offset, bytes);
        at += 2;
    }
    return write_file_atomically(path, bytes);
}

void Importance::add_row(std::string_view name, std::span<const float> row) {
    auto at = sums_.find(name);
    if (at == sums_.end()) {
        at = sums_.emplace(std::string(name), Sums{std::vector<double>(row.size()), std::vector<double>(1)})
                 .first;
    }
    for (size_t i = 0; i < row.size(); ++i) at->second.squares[i] += double{row[i]} * row[i];
    at->second.counts[0] += 1;
}

// An expert that no text reached counts all columns alike.
Result<std::vector<float>> Importance::means(const GgufTensor& tensor) const {
    const auto at = sums_.find(tensor.name);
    if (at == sums_.end()) return std::vector<float>();
    const Sums& sums = at->second;
    const uint64_t n_matrices = tensor.dims[2] * tensor.dims[3];
    if (sums.counts.size() != n_matrices || sums.squares.size() != tensor.dims[0] * n_matrices) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("The importance of tensor {} has {} columns of {} matrices, the tensor {} of {}.",
                        tensor.name, sums.squares.size() / sums.counts.size(), sums.counts.size(),
                        tensor.dims[0], n_matrices));
    }
    std::vector<float> means(sums.squares.size(), 1.0f);
    for (size_t i = 0; i < means.size(); ++i) {
        const double count = sums.counts[i / tensor.dims[0]];
        if (count > 0) means[i] = static_cast<float>(sums.squares[i] / count);
    }
    return means;
}

}  // namespace takt
