// Attention over pages: tasks are tiles of rows times key heads; a few single rows are cut by chunks of
// positions too.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "backend/step_batch_check.h"
#include "cpu/cpu_executable.h"

namespace takt::cpu {
namespace {

// Products of one score and one value dimension below which a region isn't worth a barrier.
constexpr uint64_t kAloneWork = 65536;

}  // namespace

// One tile of rows and one key head, with a worker's scratch.
struct CpuExecutable::HeadTask {
    const AttentionStep& step;
    const KvStateDecl& state;
    KvPages& pages;
    RowTile tile;
    uint32_t kv_head, heads, window;
    size_t stride;          // floats of a state
    const float** queries;  // [tile rows][heads]
    float *total, *part;    // states of all chunks and of one: [tile rows * heads][stride]
    float *scores, *widened;
    std::byte* gathered;  // a run of kRowLanes positions for each block

    uint32_t n_queries() const { return tile.n_rows * heads; }
    // Positions that row i sees.
    RowRange seen(uint32_t i) const {
        const uint32_t position = tile.first_position + i;
        return {first_visible_position(position, window), position + 1};
    }
    RowRange chunks() const {
        return {seen(0).first / kChunkPositions, (seen(tile.n_rows - 1).end - 1) / kChunkPositions + 1};
    }
};

CpuExecutable::HeadTask CpuExecutable::head_task(const AttentionStep& step, const RowTile& tile,
                                                 uint32_t kv_head, uint32_t worker) {
    const KvStateDecl& state = program_->state(step.op.state);
    const uint32_t heads = heads_per_group(step.op, state), n = tile.n_rows * heads;
    HeadTask task{step,
                  state,
                  memory_.pages(step.op.state),
                  tile,
                  kv_head,
                  heads,
                  program_->groups[state.group].window,
                  state_stride(state.value_dim),
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr};
    float* scratch = memory_.scratch(worker);
    task.total = scratch;
    task.part = task.total + n * task.stride;
    task.scores = task.part + n * task.stride;
    const KvShape& shape = task.pages.shape;
    task.widened = task.scores + size_t{n} * (kTilePositions + kRowLanes);
    task.gathered = reinterpret_cast<std::byte*>(task.widened + widened_floats(shape));
    task.queries = reinterpret_cast<const float**>(
        task.gathered + kTileBlocks * (shape.key_bytes(kRowLanes) + shape.value_bytes(kRowLanes)));
    const Rows queries = memory_.rows(step.op.query);
    for (uint32_t i = 0; i < n; ++i) {
        task.queries[i] =
            queries.row(tile.first_row + i / heads) + size_t{kv_head * heads + i % heads} * state.key_dim;
    }
    return task;
}

void CpuExecutable::cut_tiles(uint32_t rows_a_tile) {
    tiles_.clear();
    for (uint32_t s = 0; s < batch_->sequences.size(); ++s) {
        const BatchSequence& sequence = batch_->sequences[s];
        for (uint32_t i = 0; i < sequence.n_rows; i += rows_a_tile) {
            tiles_.push_back({s, sequence.first_row + i, std::min(rows_a_tile, sequence.n_rows - i),
                              sequence.first_position + i});
        }
    }
}

void CpuExecutable::run_step(const AttentionStep& step) {
    const KvStateDecl& state = program_->state(step.op.state);
    cut_tiles(task_rows(heads_per_group(step.op, state)));
    const bool single = tiles_.size() == rows_.places().size();
    const bool few = tiles_.size() * state.n_kv_heads <= shared_units(pool_.n_active());
    const bool longer = std::ranges::any_of(
        tiles_, [](const RowTile& tile) { return tile.first_position >= kChunkPositions; });
    if (single && few && longer) {
        run_shared(step);
    } else {
        run_whole(step);
    }
}

void CpuExecutable::run_whole(const AttentionStep& step) {
    const KvStateDecl& state = program_->state(step.op.state);
    uint64_t work = 0;
    for (const RowTile& tile : tiles_)
        work += uint64_t{tile.n_rows} * (tile.first_position + 1) * step.op.n_heads * state.key_dim;
    const auto n_tasks = static_cast<uint32_t>(tiles_.size()) * state.n_kv_heads;
    parallel(n_tasks, work > kAloneWork, [&](uint32_t i, uint32_t worker) {
        const uint32_t from_end = n_tasks - 1 - i;  // the longest first
        const HeadTask task =
            head_task(step, tiles_[from_end / state.n_kv_heads], from_end % state.n_kv_heads, worker);
        const RowRange chunks = task.chunks();
        const uint32_t tile_rows = task.tile.n_rows;
        std::fill_n(task.total, task.n_queries() * task.stride, 0.0f);
        for (uint32_t q = 0; q < task.n_queries(); ++q)
            task.total[q * task.stride + kStateHighest] = -INFINITY;
        for (uint32_t chunk = chunks.first; chunk < chunks.end; ++chunk) {
            attend_chunk(task, chunk, task.seen(tile_rows - 1).end, task.part);
            for (uint32_t q = 0; q < task.n_queries(); ++q) {
                float *total = task.total + q * task.stride, *part = task.part + q * task.stride;
                if (part[kStateHighest] == -INFINITY) continue;  // the row sees nothing of this chunk
                if (total[kStateHighest] == -INFINITY) {
                    std::copy_n(part, task.stride, total);
                } else {
                    kernels_.rows.merge_states(total, part, state.value_dim);
                }
            }
        }
        for (uint32_t q = 0; q < task.n_queries(); ++q) finish_head(task, q, task.total + q * task.stride);
        quantize_heads(task);
    });
}

// Chunks of single rows side by side, then each row's chunks merged in order.
void CpuExecutable::run_shared(const AttentionStep& step) {
    const KvStateDecl& state = program_->state(step.op.state);
    const uint32_t most_chunks = chunks_of(options_.max_context_tokens),
                   heads = heads_per_group(step.op, state);
    const size_t stride = state_stride(state.value_dim);
    const auto n_units = static_cast<uint32_t>(tiles_.size()) * state.n_kv_heads;
    uint32_t n_chunks = 0;
    for (const RowTile& tile : tiles_)
        n_chunks = std::max(n_chunks, tile.first_position / kChunkPositions + 1);
    const auto partial = [&](uint32_t unit, uint32_t chunk) {
        return memory_.partials() + (size_t{unit} * most_chunks + chunk) * heads * stride;
    };
    parallel(n_units * n_chunks, true, [&](uint32_t i, uint32_t worker) {
        const uint32_t unit = i / n_chunks,
                       chunk = i % n_chunks;  // a worker's chunks mostly follow each other
        const HeadTask task =
            head_task(step, tiles_[unit / state.n_kv_heads], unit % state.n_kv_heads, worker);
        const RowRange chunks = task.chunks();
        if (chunk >= chunks.first && chunk < chunks.end)
            attend_chunk(task, chunk, chunks.end * kChunkPositions, partial(unit, chunk));
    });
    for (uint32_t unit = 0; unit < n_units; ++unit) {
        const HeadTask task = head_task(step, tiles_[unit / state.n_kv_heads], unit % state.n_kv_heads, 0);
        const RowRange chunks = task.chunks();
        float* total = partial(unit, chunks.first);
        for (uint32_t q = 0; q < heads; ++q) {
            for (uint32_t chunk = chunks.first + 1; chunk < chunks.end; ++chunk) {
                kernels_.rows.merge_states(total + q * stride, partial(unit, chunk) + q * stride,
                                           state.value_dim);
            }
            finish_head(task, q, total + q * stride);
        }
        quantize_heads(task);
    }
}

// The states of all queries of the task over one chunk of positions. Where all rows see all of a tile they
// share its loads; elsewhere each row takes what it sees. The worker will read on up to read_end.
void CpuExecutable::attend_chunk(const HeadTask& task, uint32_t chunk, uint32_t read_end, float* states) {
    const uint32_t chunk_first = chunk * kChunkPositions, chunk_end = chunk_first + kChunkPositions,
                   last_row = task.tile.n_rows - 1;
    std::fill_n(states, task.n_queries() * task.stride, 0.0f);
    for (uint32_t q = 0; q < task.n_queries(); ++q) states[q * task.stride + kStateHighest] = -INFINITY;
    AttentionTile tile;
    tile.form = task.pages.shape.form;
    tile.widened = task.widened;
    tile.value_stride = task.pages.shape.value_stride;
    tile.key_dim = task.state.key_dim;
    tile.value_dim = task.state.value_dim;
    tile.scale = task.step.op.scale;
    tile.soft_cap = task.step.op.soft_cap;
    tile.state_stride = task.stride;
    tile.scores = task.scores;
    const uint32_t first = std::max(chunk_first, task.seen(0).first),
                   end = std::min(chunk_end, task.seen(last_row).end);
    for (uint32_t base = first / kTilePositions * kTilePositions; base < end; base += kTilePositions) {
        set_blocks(task, base, {std::max(base, first), std::min(base + kTilePositions, end)}, tile);
        set_ahead(task, base + kTilePositions, std::min(read_end, task.seen(last_row).end), tile);
        const bool all = task.seen(last_row).first <= base && task.seen(0).end >= base + kTilePositions;
        const uint32_t step = all ? task.tile.n_rows : 1;
        for (uint32_t i = 0; i < task.tile.n_rows; i += step) {
            const RowRange seen = task.seen(i);
            const uint32_t from = std::max(seen.first, base), to = std::min(seen.end, base + kTilePositions);
            if (!all && from >= to) continue;
            tile.first = all ? 0 : from - base;
            tile.end = all ? kTilePositions : to - base;
            tile.n_queries = step * task.heads;
            tile.queries = task.queries + size_t{i} * task.heads;
            tile.states = states + size_t{i} * task.heads * task.stride;
            kernels_.rows.attend(tile);
            tile.n_ahead = 0;
        }
    }
}

// Where the blocks of a tile lie: in a page as they are, or gathered where a page's end cuts a block.
void CpuExecutable::set_blocks(const HeadTask& task, uint32_t base, RowRange seen, AttentionTile& tile) {
    KvPages& pages = task.pages;
    const BlockTable table = batch_->sequences[task.tile.sequence].block_tables[task.state.group];
    for (int block = 0; block < kTileBlocks; ++block) {
        const uint32_t first = base + static_cast<uint32_t>(block * kRowLanes), end = first + kRowLanes;
        if (end <= seen.first || first >= seen.end) continue;
        if (pages.page_tokens % kRowLanes != 0) {
            gather_block(task, first, {std::max(first, seen.first), std::min(end, seen.end)}, block, tile);
            continue;
        }
        const KvRun run = pages.run(table[first / pages.page_tokens], task.kv_head);
        pages.shape.point(tile, block, run, first % pages.page_tokens);
    }
}

// The pages of the tile from `base` on, where a tile is made of whole pages: each is one run of keys and one
// of values.
void CpuExecutable::set_ahead(const HeadTask& task, uint32_t base, uint32_t end, AttentionTile& tile) {
    tile.n_ahead = 0;
    KvPages& pages = task.pages;
    if (pages.page_tokens % kRowLanes != 0 || kTilePositions % pages.page_tokens != 0) return;
    const BlockTable table = batch_->sequences[task.tile.sequence].block_tables[task.state.group];
    const uint32_t n_positions = pages.page_tokens;
    constexpr size_t kLineBytes = 64;
    for (uint32_t first = base; first < std::min(end, base + kTilePositions); first += n_positions) {
        const KvRun run = pages.run(table[first / n_positions], task.kv_head);
        tile.ahead[tile.n_ahead++] = {run.keys, pages.shape.key_bytes(n_positions) / kLineBytes};
        tile.ahead[tile.n_ahead++] = {run.values, pages.shape.value_bytes(n_positions) / kLineBytes};
    }
}

void CpuExecutable::gather_block(const HeadTask& task, uint32_t first_position, RowRange seen, int block,
                                 AttentionTile& tile) {
    KvPages& pages = task.pages;
    const BlockTable table = batch_->sequences[task.tile.sequence].block_tables[task.state.group];
    const uint64_t key_bytes = pages.shape.key_bytes(kRowLanes),
                   value_bytes = pages.shape.value_bytes(kRowLanes);
    std::byte* start = task.gathered + static_cast<uint32_t>(block) * (key_bytes + value_bytes);
    const KvRun gathered{start, start + key_bytes, kRowLanes};
    for (uint32_t position = seen.first; position < seen.end; ++position) {
        const KvRun run = pages.run(table[position / pages.page_tokens], task.kv_head);
        pages.shape.copy_position(run, position % pages.page_tokens, gathered, position - first_position);
    }
    pages.shape.point(tile, block, gathered, 0);
}

void CpuExecutable::finish_head(const HeadTask& task, uint32_t query, float* state) {
    const uint32_t row = task.tile.first_row + query / task.heads,
                   head = task.kv_head * task.heads + query % task.heads;
    if (task.step.op.sinks.valid()) {
        // One more score, whose value is zero.
        float* sink = task.part;
        std::fill_n(sink, task.stride, 0.0f);
        sink[kStateHighest] = weights_->vector(task.step.op.sinks)[head] * std::numbers::log2e_v<float>;
        sink[0] = 1;
        kernels_.rows.merge_states(state, sink, task.state.value_dim);
    }
    kernels_.rows.finish_state(state,
                               memory_.rows(task.step.op.out).row(row) + size_t{head} * task.state.value_dim,
                               task.state.value_dim);
}

void CpuExecutable::quantize_heads(const HeadTask& task) {
    if (!task.step.quantize) return;
    const uint32_t n = task.heads * task.state.value_dim, first = task.kv_head * n;
    for (uint32_t row = task.tile.first_row; row < task.tile.first_row + task.tile.n_rows; ++row) {
        quantize_part(memory_.rows(task.step.op.out).row(row) + first, memory_.quantized(task.step.op.out),
                      row, first, n);
    }
}

}  // namespace takt::cpu
