// One tensor after the other, each cut into tasks of some rows: a worker reads, encodes and writes them.
#include "quantize/quantizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/os.h"
#include "gguf/gguf_keys.h"
#include "gguf/gguf_writer.h"
#include "quantize/encode.h"
#include "quantize/mix.h"
#include "tensor/dequantize.h"

namespace takt {
namespace {

constexpr uint64_t kTaskBytes = uint64_t{256} << 10;  // of the input
constexpr uint32_t kQuantizationVersion = 2;          // of the block formats, as the field counts them

uint64_t rows_of(const GgufTensor& tensor) {
    return tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
}

// One tensor on its way from file to file.
class TensorJob {
public:
    TensorJob(const GgufFile& from, const GgufTensor& source, const GgufTensor& target, os::NewFile& to,
              std::span<const float> importance)
        : from_(from), source_(source), target_(target), to_(to), importance_(importance) {
        rows_a_task_ = std::clamp<uint64_t>(
            kTaskBytes / std::max<uint64_t>(1, row_bytes(source.dtype, source.dims[0])), 1, rows_of(source));
    }

    uint64_t n_tasks() const { return (rows_of(source_) + rows_a_task_ - 1) / rows_a_task_; }
    uint64_t source_bytes(uint64_t task) const {
        return n_rows(task) * row_bytes(source_.dtype, source_.dims[0]);
    }

    Status run(uint64_t task) const {
        const uint64_t columns = source_.dims[0], first = task * rows_a_task_, rows = n_rows(task);
        const uint64_t source_row = row_bytes(source_.dtype, columns),
                       target_row = row_bytes(target_.dtype, columns);
        std::vector<std::byte> input(rows * source_row);
        TAKT_RETURN_IF_ERROR(from_.read(source_, first * source_row, input));
        const uint64_t to = target_.offset + first * target_row;
        if (source_.dtype == target_.dtype) return to_.write_at(to, input);
        std::vector<float> values(columns);
        std::vector<std::byte> output(rows * target_row);
        for (uint64_t row = 0; row < rows; ++row) {
            dequantize_row(source_.dtype, std::span(input).subspan(row * source_row, source_row), values);
            TAKT_RETURN_IF_ERROR(check_values(values, first + row));
            encode_row(target_.dtype, values, importance_of(first + row),
                       std::span(output).subspan(row * target_row, target_row));
        }
        return to_.write_at(to, output);
    }

private:
    uint64_t n_rows(uint64_t task) const {
        return std::min(rows_a_task_, rows_of(source_) - task * rows_a_task_);
    }
    std::span<const float> importance_of(uint64_t row) const {
        if (importance_.empty()) return {};
        return importance_.subspan(row / source_.dims[1] * source_.dims[0], source_.dims[0]);
    }
    Status check_values(std::span<const float> values, uint64_t row) const {
        const float most = largest_value(target_.dtype);
        for (size_t column = 0; column < values.size(); ++column) {
            if (std::abs(values[column]) <= most) continue;
            return Status(
                StatusCode::file_invalid,
                fmt::format("Tensor {}: {} in row {}, column {} can't be had in type {}, which reaches {}.",
                            source_.name, values[column], row, column, dtype_info(target_.dtype).name, most));
        }
        return {};
    }

    const GgufFile& from_;
    const GgufTensor& source_;
    const GgufTensor& target_;
    os::NewFile& to_;
    std::span<const float> importance_;
    uint64_t rows_a_task_ = 1;
};

class Quantization {
public:
    Quantization(const QuantizeOptions& options, ThreadPool& pool) : options_(options), pool_(pool) {}

    Result<QuantizeResult> run() {
        TAKT_RETURN_IF_ERROR(open());
        TAKT_RETURN_IF_ERROR(plan());
        Result<os::NewFile> file = os::NewFile::create(options_.output);
        if (!file.ok()) return file.status();
        const std::vector<std::byte> head = writer_.head();
        TAKT_RETURN_IF_ERROR(file->write_at(0, head));
        for (size_t i = 0; i < input_->tensors().size(); ++i) TAKT_RETURN_IF_ERROR(convert(i, *file));
        // The padding behind the last tensor.
        const uint64_t end = writer_.tensors().empty() ? head.size() : end_of(writer_.tensors().back());
        TAKT_RETURN_IF_ERROR(file->write_at(end, std::vector<std::byte>(writer_.file_bytes() - end)));
        TAKT_RETURN_IF_ERROR(file->finish());
        result_.output_bytes = writer_.file_bytes();
        return result_;
    }

private:
    static uint64_t end_of(const GgufTensor& tensor) { return tensor.offset + tensor.size_bytes; }

    Status open() {
        if (options_.input.empty()) return Status(StatusCode::invalid_argument, "The input's path is empty.");
        Result<std::shared_ptr<const ByteSource>> source = open_file(options_.input);
        if (!source.ok()) return source.status();
        Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(std::move(*source));
        if (!file.ok()) return file.status();
        input_ = std::move(*file);
        for (size_t part = 0; part < input_->n_parts(); ++part) {
            if (!os::same_file(input_->part_name(part), options_.output)) continue;
            return Status(StatusCode::invalid_argument,
                          fmt::format("Input and output are the same file, {}.", options_.output));
        }
        result_.input_bytes = input_->size_bytes();
        return {};
    }

    Status plan() {
        const Result<QuantizeType> type = find_quantize_type(options_.type);
        if (!type.ok()) return type.status();
        const Result<TypePlan> types =
            plan_types(*input_, *type, options_.pure, options_.importance != nullptr);
        if (!types.ok()) return types.status();
        bool any_quantized = false;
        for (size_t i = 0; i < types->dtypes.size(); ++i) {
            GgufTensor target = input_->tensors()[i];
            if (is_block_quantized(target.dtype) && types->dtypes[i] != target.dtype &&
                !options_.requantize) {
                return Status(
                    StatusCode::invalid_argument,
                    fmt::format("{}: tensor {} is quantized already, in type {}; another type loses twice. "
                                "requantize allows it.",
                                options_.input, target.name, dtype_info(target.dtype).name));
            }
            result_.n_quantized += types->dtypes[i] != target.dtype;
            total_bytes_ += target.size_bytes;
            target.dtype = types->dtypes[i];
            any_quantized = any_quantized || is_block_quantized(target.dtype);
            writer_.add_tensor(target);
        }
        result_.n_tensors = static_cast<uint32_t>(types->dtypes.size());
        result_.n_fallbacks = types->n_fallbacks;
        for (const GgufEntry& entry : input_->entries()) {
            if (!entry.key.starts_with("split.")) writer_.set(entry);
        }
        writer_.set_u32(gguf_keys::kFileType, type->file_type);
        if (any_quantized) writer_.set_u32(gguf_keys::kQuantizationVersion, kQuantizationVersion);
        return {};
    }

    Status convert(size_t index, os::NewFile& file) {
        const GgufTensor& source = input_->tensors()[index];
        std::vector<float> importance;
        if (options_.importance != nullptr && is_quantized_matrix(source)) {
            Result<std::vector<float>> means = options_.importance->means(source);
            if (!means.ok()) return means.status();
            importance = std::move(*means);
        }
        const TensorJob job(*input_, source, writer_.tensors()[index], file, importance);
        std::atomic<bool> stopped{false};
        pool_.run(static_cast<uint32_t>(job.n_tasks()), [&](uint32_t task, uint32_t) {
            if (stopped.load(std::memory_order_relaxed)) return;
            Status status;
            try {
                status = job.run(task);
                if (status.ok()) status = report(job.source_bytes(task));
            } catch (const std::bad_alloc&) {
                status =
                    Status(StatusCode::out_of_memory, fmt::format("No memory to quantize {}.", source.name));
            }
            if (status.ok()) return;
            const std::lock_guard lock(failing_);
            stopped.store(true, std::memory_order_relaxed);
            if (failure_.ok()) failure_ = std::move(status);
        });
        if (thrown_) std::rethrow_exception(thrown_);
        return failure_;
    }

    // The callback is called by the thread that runs the quantization alone.
    Status report(uint64_t done) {
        const uint64_t all = done_bytes_.fetch_add(done, std::memory_order_relaxed) + done;
        if (!options_.progress || std::this_thread::get_id() != caller_) return {};
        try {
            if (options_.progress(all, total_bytes_)) return {};
        } catch (...) {
            thrown_ = std::current_exception();
        }
        return Status(StatusCode::cancelled, "Quantizing was cancelled by the progress callback.");
    }

    const QuantizeOptions& options_;
    ThreadPool& pool_;
    std::shared_ptr<const GgufFile> input_;
    GgufWriter writer_;
    QuantizeResult result_;
    uint64_t total_bytes_ = 0;
    std::atomic<uint64_t> done_bytes_{0};
    const std::thread::id caller_ = std::this_thread::get_id();
    std::mutex failing_;
    Status failure_;
    std::exception_ptr thrown_;
};

}  // namespace

Result<QuantizeResult> quantize_file(const QuantizeOptions& options, ThreadPool& pool) {
    Result<QuantizeResult> result = Quantization(options, pool).run();
    if (!result.ok()) return result.status().with_context(fmt::format("quantizing to {}", options.output));
    return result;
}

}  // namespace takt
