// The source is cut into pieces of whole panels, the pieces are grouped into tasks of a few huge pages.
#include "cpu/weight_loader.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/load_meter.h"
#include "backend/weight_rows.h"
#include "base/aligned_buffer.h"
#include "cpu/kernels/pack_panels.h"
#include "cpu/kernels/packed_matrix.h"
#include "tensor/dequantize.h"

namespace takt::cpu {
namespace {

// Of the source, read at once: stays in the second-level cache between the read and the packing.
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
// Of the block: a task fills its own huge pages, since two threads that fault in the same one both clear it.
constexpr uint64_t kTaskBytes = uint64_t{2} << 20;

struct Piece {
    uint32_t weight = 0;
    bool vector = false;  // the whole weight as float32; otherwise rows of a matrix
    uint32_t first_row = 0, n_rows = 0;
    uint64_t source_bytes = 0;
};

struct Job {
    std::vector<Piece> pieces;
    std::vector<size_t> task_begins;  // and the end of the last
    uint64_t window_bytes = 0;        // of the largest piece, filled up for the packers
};

void cut_matrix(const WeightDecl& weight, uint32_t index, Job& job) {
    const uint64_t bytes_per_row = row_bytes(weight.dtype, weight.columns);
    const uint64_t panels = std::max<uint64_t>(1, kPieceBytes / (bytes_per_row * kPanelRows));
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(panels * kPanelRows, weight.rows));
    for (uint32_t first = 0, n = 0; first < weight.rows; first += n) {
        n = std::min(rows, weight.rows - first);
        job.pieces.push_back({index, false, first, n, n * bytes_per_row});
    }
    const uint64_t padded = (uint64_t{rows} + kPackedRows - 1) / kPackedRows * kPackedRows;
    job.window_bytes = std::max(job.window_bytes, padded * bytes_per_row);
}

Job cut(const Program& program, const WeightLayout& layout) {
    Job job;
    uint64_t task_bytes = kTaskBytes;
    for (uint32_t i = 0; i < layout.places.size(); ++i) {
        const WeightDecl& weight = program.weights[i];
        const size_t first = job.pieces.size();
        if (layout.places[i].matrix) cut_matrix(weight, i, job);
        if (layout.places[i].vector) {
            job.pieces.push_back({i, true, 0, weight.rows, file_bytes(weight)});
            job.window_bytes = std::max(job.window_bytes, file_bytes(weight));
        }
        for (size_t p = first; p < job.pieces.size(); ++p) {
            if (task_bytes >= kTaskBytes) {
                job.task_begins.push_back(p);
                task_bytes = 0;
            }
            task_bytes += job.pieces[p].source_bytes;  // a panel is about as large as its source
        }
    }
    job.task_begins.push_back(job.pieces.size());
    return job;
}

class Load {
public:
    Load(const Program& program, const WeightLayout& layout, const WeightSource& source, ThreadPool& pool,
         const LoadProgress& progress, std::byte* block)
        : program_(program),
          layout_(layout),
          source_(source),
          pool_(pool),
          progress_(progress),
          block_(block),
          job_(cut(program, layout)),
          windows_(pool.n_threads()) {}

    Status run() {
        const auto n_tasks = static_cast<uint32_t>(job_.task_begins.size() - 1);
        pool_.run(n_tasks, [this](uint32_t task, uint32_t worker) {
            for (size_t p = job_.task_begins[task]; p < job_.task_begins[task + 1]; ++p) {
                if (stopped_.load(std::memory_order_relaxed)) return;
                if (Status status = load(job_.pieces[p], windows_[worker]); !status.ok())
                    return fail(p, std::move(status));
                done_.fetch_add(job_.pieces[p].source_bytes, std::memory_order_relaxed);
            }
            report();
        });
        if (thrown_) std::rethrow_exception(thrown_);
        if (stopped_) return failure_;
        if (reported_ != layout_.source_bytes) report();  // others did the last tasks
        if (thrown_) std::rethrow_exception(thrown_);
        return failure_;
    }

private:
    Status load(const Piece& piece, AlignedBuffer& window) {
        if (window.size_bytes() == 0) {
            Result<AlignedBuffer> made = AlignedBuffer::allocate(job_.window_bytes);
            if (!made.ok()) return made.status().with_context("Loading the weights");
            window = std::move(*made);
        }
        const WeightDecl& weight = program_.weights[piece.weight];
        const WeightPlace& place = layout_.places[piece.weight];
        const std::span<std::byte> bytes(window.data(), piece.source_bytes);
        const uint64_t bytes_per_row = row_bytes(weight.dtype, weight.columns);
        TAKT_RETURN_IF_ERROR(read_rows(source_, weight, piece.first_row, piece.n_rows, bytes));
        if (piece.vector) {
            auto* values = reinterpret_cast<float*>(block_ + place.vector_offset);
            dequantize_row(weight.dtype, bytes, {values, size_t{weight.rows} * weight.columns});
            return {};
        }
        const size_t missing = (kPackedRows - piece.n_rows % kPackedRows) % kPackedRows;
        std::fill_n(bytes.data() + bytes.size(), missing * bytes_per_row, std::byte{0});
        PackedMatrix::pack_rows(weight.dtype, panel_layout(weight.dtype, weight.rows, weight.columns),
                                piece.first_row, piece.n_rows, bytes.data(), block_ + place.matrix_offset);
        return {};
    }

    // Of several failures the one that lies first in the file's order is told.
    void fail(size_t piece, Status status) {
        const std::lock_guard lock(failing_);
        stopped_.store(true, std::memory_order_relaxed);
        if (piece >= failed_piece_) return;
        failed_piece_ = piece;
        failure_ = std::move(status);
    }

    void report() {
        if (!progress_ || std::this_thread::get_id() != loader_) return;
        const uint64_t done = done_.load(std::memory_order_relaxed);
        if (stopped_.load(std::memory_order_relaxed) || done == reported_) return;
        reported_ = done;
        try {
            if (progress_(done, layout_.source_bytes)) return;
        } catch (...) {
            thrown_ = std::current_exception();
        }
        fail(job_.pieces.size(),
             Status(StatusCode::cancelled, "Loading the weights was cancelled by the progress callback."));
    }

    const Program& program_;
    const WeightLayout& layout_;
    const WeightSource& source_;
    ThreadPool& pool_;
    const LoadProgress& progress_;
    std::byte* block_;
    const Job job_;
    std::vector<AlignedBuffer> windows_;  // by worker, made by the worker itself

    const std::thread::id loader_ = std::this_thread::get_id();
    std::atomic<uint64_t> done_{0};
    std::atomic<bool> stopped_{false};
    std::mutex failing_;
    size_t failed_piece_ = SIZE_MAX;
    Status failure_;
    uint64_t reported_ = 0;  // these two by the loading thread alone
    std::exception_ptr thrown_;
};

}  // namespace

Status load_weights(const Program& program, const WeightLayout& layout, const WeightSource& source,
                    ThreadPool& pool, const LoadProgress& progress, std::byte* block) {
    return Load(program, layout, source, pool, progress, block).run();
}

}  // namespace takt::cpu
