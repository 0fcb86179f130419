// Running a step: rows get their places, ops run in order, outputs are copied out.
#include "reference/reference_executable.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backend/argmax.h"
#include "backend/batch_rows.h"
#include "backend/state_form.h"
#include "backend/step_batch_check.h"
#include "base/clock.h"
#include "reference/reference_ops.h"
#include "tensor/dequantize.h"

namespace takt::reference {
namespace {

constexpr uint32_t kMatmulBlock = 64;  // output rows of one task

}  // namespace

ReferenceExecutable::ReferenceExecutable(std::shared_ptr<const Program> program,
                                         std::shared_ptr<const ReferenceWeights> weights,
                                         const CompileOptions& options, ReferenceMemory memory,
                                         ThreadPool* pool)
    : program_(std::move(program)),
      weights_(std::move(weights)),
      options_(options),
      memory_(std::move(memory)),
      pool_(pool),
      rows_(options) {
    argmax_.reserve(options.max_output_rows);
    if (!program_->recurrent_states.empty())
        slots_.reserve(size_t{options.max_sequences} * program_->groups.size());
}

Result<StepOutput> ReferenceExecutable::run(const StepBatch& batch) {
    TAKT_RETURN_IF_ERROR(check_step_batch(*program_, options_, batch));
    const SteadyClock clock;
    const uint64_t start_ns = clock.now_ns();
    batch_ = &batch;
    rows_.place(batch);
    remember_slots(batch);
    for (const Op& op : program_->ops) std::visit([this](const auto& o) { run_op(o); }, op);
    StepOutput output = collect(batch);
    batch_ = nullptr;
    output.compute_ns = clock.now_ns() - start_ns;
    return output;
}

StepOutput ReferenceExecutable::collect(const StepBatch& batch) {
    const uint32_t vocab = program_->vocab_size, width = program_->value(program_->hidden).width;
    const auto n_rows = static_cast<uint32_t>(rows_.outputs().size());
    StepOutput output;
    output.rows = rows_.outputs();
    output.logits = memory_.logits().first(size_t{n_rows} * vocab);
    for (uint32_t i = 0; i < n_rows; ++i) {
        std::ranges::copy(memory_.row(program_->logits, i), memory_.logits().begin() + size_t{i} * vocab);
        std::ranges::copy(memory_.row(program_->hidden, i), memory_.hidden().begin() + size_t{i} * width);
    }
    if (anyone_wants(batch, OutputWanted::hidden))
        output.hidden = memory_.hidden().first(size_t{n_rows} * width);
    if (anyone_wants(batch, OutputWanted::argmax)) {
        argmax_.clear();
        for (uint32_t i = 0; i < n_rows; ++i)
            argmax_.push_back(argmax_row(output.logits.subspan(size_t{i} * vocab, vocab)));
        output.argmax = argmax_;
    }
    return output;
}

Status ReferenceExecutable::copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) {
    TAKT_RETURN_IF_ERROR(check_page_copy(*program_, options_, group, from_page, to_page));
    const uint32_t n_pages = options_.n_pages[group];
    for (uint32_t i = 0; i < program_->states.size(); ++i) {
        if (program_->states[i].group != group) continue;
        copy_page_bytes(memory_.pages({i}).keys.as<std::byte>(), n_pages, from_page, to_page);
        copy_page_bytes(memory_.pages({i}).values.as<std::byte>(), n_pages, from_page, to_page);
    }
    for (uint32_t i = 0; i < program_->recurrent_states.size(); ++i) {
        if (program_->recurrent_states[i].group == group)
            copy_page_bytes(memory_.recurrent({i}).slots.as<std::byte>(), n_pages, from_page, to_page);
    }
    return {};
}

// Calls body with the floats of the pages and their bytes outside: the keys of each position, then the
// values.
template <typename Bytes, typename Body>
void ReferenceExecutable::each_row(const StateRange& range, Bytes bytes, Body body) {
    const KvStateDecl& state = program_->state(range.state);
    const auto walk = [&](AlignedBuffer& pages, uint32_t dim, size_t row_bytes) {
        const size_t n = size_t{state.n_kv_heads} * dim;
        for (uint32_t i = 0; i < range.n_positions; ++i) {
            const size_t slot = slot_of(range.table, range.first_position + i);
            body(pages.as<float>().subspan(slot * n, n), bytes.first(row_bytes));
            bytes = bytes.subspan(row_bytes);
        }
    };
    KvPages& pages = memory_.pages(range.state);
    walk(pages.keys, state.key_dim, key_bytes_per_token(state, *kv_dtype()));
    walk(pages.values, state.value_dim, value_bytes_per_token(state, *kv_dtype()));
}

Status ReferenceExecutable::read_state(const StateRange& range, std::span<std::byte> out) {
    TAKT_RETURN_IF_ERROR(check_state_range(*program_, options_, *kv_dtype(), range, out.size()));
    each_row(range, out, [&](std::span<const float> row, std::span<std::byte> bytes) {
        pack_kv(*kv_dtype(), row, bytes);
    });
    return {};
}

Status ReferenceExecutable::write_state(const StateRange& range, std::span<const std::byte> in) {
    TAKT_RETURN_IF_ERROR(check_state_range(*program_, options_, *kv_dtype(), range, in.size()));
    each_row(range, in, [&](std::span<float> row, std::span<const std::byte> bytes) {
        dequantize_row(*kv_dtype(), bytes, row);
    });
    return {};
}

MemoryPlan ReferenceExecutable::memory() const {
    return {weights_->size_bytes(), memory_.state_bytes(), memory_.scratch_bytes()};
}

uint32_t ReferenceExecutable::n_rows(ValueId value) const {
    return static_cast<uint32_t>(program_->value(value).domain == RowDomain::tokens ? rows_.places().size()
                                                                                    : rows_.outputs().size());
}

size_t ReferenceExecutable::slot_of(const KvStateDecl& state, uint32_t sequence, uint32_t position) const {
    return slot_of(batch_->sequences[sequence].block_tables[state.group], position);
}

size_t ReferenceExecutable::slot_of(BlockTable table, uint32_t position) const {
    return size_t{table[position / options_.page_tokens]} * options_.page_tokens +
           position % options_.page_tokens;
}

void ReferenceExecutable::parallel(uint32_t n_tasks, FunctionRef<void(uint32_t task, uint32_t worker)> body) {
    if (pool_) return pool_->run(n_tasks, body);
    for (uint32_t task = 0; task < n_tasks; ++task) body(task, 0);
}

Status ReferenceExecutable::observe_products(ProductObserver observer) {
    observer_ = std::move(observer);
    return {};
}

void ReferenceExecutable::tell_observer(const MatmulOp& op) {
    observed_.clear();
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const std::span<const float> values = memory_.row(op.in, row);
        observed_.insert(observed_.end(), values.begin(), values.end());
    }
    observer_(op.weight, observed_, n_rows(op.out));
}

void ReferenceExecutable::run_op(const MatmulOp& op) {
    if (observer_ && n_rows(op.out) != 0) tell_observer(op);
    const WeightDecl& decl = program_->weight(op.weight);
    const MatrixView weight{weights_->data(op.weight), decl.rows, decl.columns};
    const float* bias = weights_->data(op.bias);
    parallel((decl.rows + kMatmulBlock - 1) / kMatmulBlock, [&](uint32_t block, uint32_t) {
        const uint32_t first = block * kMatmulBlock, n = std::min(kMatmulBlock, decl.rows - first);
        for (uint32_t row = 0; row < n_rows(op.out); ++row) {
            matmul_block(weight, bias, first, n, memory_.row(op.in, row).data(),
                         memory_.row(op.out, row).data());
        }
    });
}

void ReferenceExecutable::run_op(const KvAppendOp& op) {
    const KvStateDecl& state = program_->state(op.state);
    KvPages& pages = memory_.pages(op.state);
    for (uint32_t row = 0; row < n_rows(op.keys); ++row) {
        const size_t slot = slot_of(state, rows_.places()[row].sequence, rows_.places()[row].position);
        const std::span<const float> keys = memory_.row(op.keys, row), values = memory_.row(op.values, row);
        std::copy(keys.begin(), keys.end(), pages.keys.as<float>().data() + slot * keys.size());
        std::copy(values.begin(), values.end(), pages.values.as<float>().data() + slot * values.size());
        const DType dtype = options_.kv_dtype.value_or(DType::f32);
        round_kv(dtype, pages.keys.as<float>().subspan(slot * keys.size(), keys.size()));
        round_kv(dtype, pages.values.as<float>().subspan(slot * values.size(), values.size()));
    }
}

void ReferenceExecutable::run_op(const AttentionOp& op) {
    parallel(n_rows(op.out) * op.n_heads, [&](uint32_t task, uint32_t worker) {
        attend_head(op, task / op.n_heads, task % op.n_heads, memory_.scores(worker));
    });
}

std::pair<uint32_t, uint32_t> ReferenceExecutable::seen_by(const AttentionOp& op, uint32_t row) const {
    const auto [index, position] = rows_.places()[row];
    const uint32_t window = program_->groups[program_->state(op.state).group].window;
    if (!op.bidirectional) {
        const uint32_t first = first_visible_position(position, window);
        return {first, position - first + 1};
    }
    const BatchSequence& sequence = batch_->sequences[index];
    const uint32_t end = sequence.first_position + sequence.n_rows, reach = window == 0 ? end : window / 2;
    const uint32_t first = position - std::min(position, reach);
    return {first, std::min(end, position + reach + 1) - first};
}

void ReferenceExecutable::attend_head(const AttentionOp& op, uint32_t row, uint32_t head,
                                      std::span<double> scores) {
    const KvStateDecl& state = program_->state(op.state);
    const KvPages& pages = memory_.pages(op.state);
    const uint32_t sequence = rows_.places()[row].sequence;
    const auto [first, n] = seen_by(op, row);
    const uint32_t kv_head = head / (op.n_heads / state.n_kv_heads);
    const float* query = memory_.row(op.query, row).data() + size_t{head} * state.key_dim;
    auto vector_at = [&](const AlignedBuffer& buffer, uint32_t i, uint32_t dim) {
        return buffer.as<float>().data() +
               (slot_of(state, sequence, first + i) * state.n_kv_heads + kv_head) * dim;
    };

    for (uint32_t i = 0; i < n; ++i)
        scores[i] = dot(query, vector_at(pages.keys, i, state.key_dim), state.key_dim) * op.scale;
    const uint32_t n_scores = op.sinks.valid() ? n + 1 : n;
    if (op.soft_cap > 0) {
        for (double& score : scores.first(n)) score = op.soft_cap * std::tanh(score / op.soft_cap);
    }
    if (op.sinks.valid()) scores[n] = weights_->data(op.sinks)[head];
    softmax(scores.first(n_scores));
    const std::span<float> out =
        memory_.row(op.out, row).subspan(size_t{head} * state.value_dim, state.value_dim);
    for (uint32_t d = 0; d < state.value_dim; ++d) {
        double sum = 0;
        for (uint32_t i = 0; i < n; ++i) sum += scores[i] * vector_at(pages.values, i, state.value_dim)[d];
        out[d] = static_cast<float>(sum);
    }
}

}  // namespace takt::reference
