// Names the first row, sequence or page that is wrong.
#include "backend/step_batch_check.h"

#include <fmt/format.h>

namespace takt {
namespace {

constexpr uint32_t kMaxPageTokens = 4096;
constexpr uint32_t kMaxRows = 1u << 20;
constexpr uint32_t kMaxPositions = 1u << 30;  // of one group, all pages together

template <typename... Args>
Status refuse(fmt::format_string<Args...> format, Args&&... args) {
    return Status(StatusCode::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}

Status check_option(std::string_view name, uint32_t value, uint32_t limit) {
    if (value >= 1 && value <= limit) return {};
    return refuse("Compile option {} is {}, must be 1 to {}.", name, value, limit);
}

Status check_rows(const Program& program, const CompileOptions& options, const StepBatch& batch) {
    const size_t n_rows = batch.tokens.size();
    if (n_rows == 0) return refuse("The step batch has no rows.");
    if (n_rows > options.max_rows)
        return refuse("The step batch has {} rows, the executable takes {}.", n_rows, options.max_rows);
    if (batch.wanted.size() != n_rows)
        return refuse("The step batch has {} tokens but {} wanted outputs.", n_rows, batch.wanted.size());
    size_t n_wanted = 0;
    for (size_t row = 0; row < n_rows; ++row) {
        const int32_t token = batch.tokens[row];
        if (token < 0 || static_cast<uint32_t>(token) >= program.vocab_size) {
            return refuse("Row {} holds token {}, the vocabulary has {}.", row, token, program.vocab_size);
        }
        n_wanted += batch.wanted[row] != OutputWanted::none;
    }
    if (n_wanted > options.max_output_rows) {
        return refuse("The step batch wants outputs of {} rows, the executable gives {}.", n_wanted,
                      options.max_output_rows);
    }
    return {};
}

Status check_table(const BatchSequence& sequence, const StateGroup& group, BlockTable table, uint32_t n_pages,
                   uint32_t page_tokens) {
    const uint32_t last = sequence.first_position + sequence.n_rows - 1;
    const uint32_t last_page = last / page_tokens;
    if (last_page >= table.size()) {
        return refuse("Sequence {}: the block table of group {} has {} pages of {}, position {} needs {}.",
                      sequence.sequence, group.name, table.size(), page_tokens, last, last_page + 1);
    }
    const uint32_t first_page = first_visible_position(sequence.first_position, group.window) / page_tokens;
    for (uint32_t i = first_page; i <= last_page; ++i) {
        if (table[i] < n_pages) continue;
        return refuse("Sequence {}: entry {} of the block table of group {} is page {}, the group has {}.",
                      sequence.sequence, i, group.name, table[i], n_pages);
    }
    return {};
}

Status check_slot(const BatchSequence& sequence, const StateGroup& group, BlockTable table,
                  uint32_t n_slots) {
    if (table.size() != 1) {
        return refuse("Sequence {}: the block table of group {} has {} entries, must be one slot.",
                      sequence.sequence, group.name, table.size());
    }
    if (table[0] < n_slots) return {};
    return refuse("Sequence {}: its slot of group {} is {}, the group has {}.", sequence.sequence, group.name,
                  table[0], n_slots);
}

Status check_slots_differ(const Program& program, const BatchSequence& a, const BatchSequence& b) {
    for (size_t g = 0; g < program.groups.size(); ++g) {
        if (!program.groups[g].recurrent || a.block_tables[g][0] != b.block_tables[g][0]) continue;
        return refuse("Sequences {} and {} both have slot {} of group {}.", a.sequence, b.sequence,
                      a.block_tables[g][0], program.groups[g].name);
    }
    return {};
}

Status check_sequence(const Program& program, const CompileOptions& options, const BatchSequence& sequence) {
    if (sequence.n_rows == 0) return refuse("Sequence {} has no rows.", sequence.sequence);
    const uint64_t end = uint64_t{sequence.first_position} + sequence.n_rows;
    if (end > options.max_context_tokens) {
        return refuse("Sequence {} reaches position {}, the context holds {}.", sequence.sequence, end - 1,
                      options.max_context_tokens);
    }
    if (sequence.block_tables.size() != program.groups.size()) {
        return refuse("Sequence {} has {} block tables, the program has {} state groups.", sequence.sequence,
                      sequence.block_tables.size(), program.groups.size());
    }
    for (size_t g = 0; g < program.groups.size(); ++g) {
        const BlockTable table = sequence.block_tables[g];
        const StateGroup& group = program.groups[g];
        TAKT_RETURN_IF_ERROR(
            group.recurrent ? check_slot(sequence, group, table, options.n_pages[g])
                            : check_table(sequence, group, table, options.n_pages[g], options.page_tokens));
    }
    return {};
}

Status check_kv_dtype(const Program& program, DType dtype) {
    const DTypeInfo& info = dtype_info(dtype);
    if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::q8_0)
        return refuse("Keys and values can't be {}; f32, f16 and q8_0 they can.", info.name);
    for (const KvStateDecl& state : program.states) {
        for (const uint32_t dim : {state.key_dim, state.value_dim}) {
            if (dim % info.block_elements == 0) continue;
            return refuse("Keys and values can't be {}: a head of {} has {} dimensions, no multiple of {}.",
                          info.name, state.name, dim, info.block_elements);
        }
    }
    return {};
}

}  // namespace

Status check_compile_options(const Program& program, const CompileOptions& options) {
    TAKT_RETURN_IF_ERROR(check_option("max_rows", options.max_rows, kMaxRows));
    TAKT_RETURN_IF_ERROR(check_option("max_output_rows", options.max_output_rows, kMaxRows));
    TAKT_RETURN_IF_ERROR(check_option("max_sequences", options.max_sequences, kMaxRows));
    TAKT_RETURN_IF_ERROR(check_option("max_context_tokens", options.max_context_tokens, kMaxPositions));
    TAKT_RETURN_IF_ERROR(check_option("page_tokens", options.page_tokens, kMaxPageTokens));
    if (options.n_pages.size() != program.groups.size()) {
        return refuse("Page counts are given for {} state groups, the program has {}.",
                      options.n_pages.size(), program.groups.size());
    }
    for (uint32_t n_pages : options.n_pages)
        TAKT_RETURN_IF_ERROR(check_option("n_pages", n_pages, kMaxPositions / options.page_tokens));
    return options.kv_dtype ? check_kv_dtype(program, *options.kv_dtype) : Status();
}

Status check_step_batch(const Program& program, const CompileOptions& options, const StepBatch& batch) {
    TAKT_RETURN_IF_ERROR(check_rows(program, options, batch));
    if (batch.sequences.size() > options.max_sequences) {
        return refuse("The step batch has {} sequences, the executable takes {}.", batch.sequences.size(),
                      options.max_sequences);
    }
    uint64_t next_row = 0;
    for (size_t i = 0; i < batch.sequences.size(); ++i) {
        const BatchSequence& sequence = batch.sequences[i];
        for (size_t j = 0; j < i; ++j) {
            if (batch.sequences[j].sequence == sequence.sequence)
                return refuse("Sequence {} is in the step batch twice.", sequence.sequence);
        }
        if (sequence.first_row != next_row) {
            return refuse("Sequence {} starts at row {}, row {} comes next.", sequence.sequence,
                          sequence.first_row, next_row);
        }
        next_row += sequence.n_rows;
        TAKT_RETURN_IF_ERROR(check_sequence(program, options, sequence));
        for (size_t j = 0; !program.recurrent_states.empty() && j < i; ++j)
            TAKT_RETURN_IF_ERROR(check_slots_differ(program, batch.sequences[j], sequence));
    }
    if (next_row != batch.tokens.size()) {
        return refuse("The sequences hold {} rows, the step batch has {}.", next_row, batch.tokens.size());
    }
    return {};
}

}  // namespace takt
