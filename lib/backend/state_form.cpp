// Names the first thing of a range that is wrong.
#include "backend/state_form.h"

#include <fmt/format.h>

namespace takt {
namespace {

template <typename... Args>
Status refuse(fmt::format_string<Args...> format, Args&&... args) {
    return Status(StatusCode::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}

Status check_pages(const StateRange& range, std::string_view name, uint32_t n_pages, uint32_t page_tokens) {
    const uint32_t last = range.first_position + range.n_positions - 1, last_page = last / page_tokens;
    if (last_page >= range.table.size()) {
        return refuse("State {}: the block table has {} pages of {}, position {} needs {}.", name,
                      range.table.size(), page_tokens, last, last_page + 1);
    }
    for (uint32_t i = range.first_position / page_tokens; i <= last_page; ++i) {
        const uint32_t page = range.table[i];
        if (page < n_pages) continue;
        if (page == kNoPage) {
            return refuse("State {}: positions {} to {} are asked for, {} to {} have no page.", name,
                          range.first_position, last, i * page_tokens, (i + 1) * page_tokens - 1);
        }
        return refuse("State {}: entry {} of the block table is page {}, the group has {}.", name, i, page,
                      n_pages);
    }
    return {};
}

}  // namespace

uint64_t key_bytes_per_token(const KvStateDecl& state, DType dtype) {
    return row_bytes(dtype, uint64_t{state.n_kv_heads} * state.key_dim);
}

uint64_t value_bytes_per_token(const KvStateDecl& state, DType dtype) {
    return row_bytes(dtype, uint64_t{state.n_kv_heads} * state.value_dim);
}

uint64_t state_bytes_per_token(const KvStateDecl& state, DType dtype) {
    return key_bytes_per_token(state, dtype) + value_bytes_per_token(state, dtype);
}

Status check_state_range(const Program& program, const CompileOptions& options, DType dtype,
                         const StateRange& range, uint64_t n_bytes) {
    if (range.state.index >= program.states.size()) {
        return refuse("State {} doesn't exist, the program has {}.", range.state.index,
                      program.states.size());
    }
    const KvStateDecl& state = program.state(range.state);
    if (range.n_positions == 0) return refuse("State {}: no positions are asked for.", state.name);
    const uint64_t end = uint64_t{range.first_position} + range.n_positions;
    if (end > options.max_context_tokens) {
        return refuse("State {}: position {} is asked for, the context holds {}.", state.name, end - 1,
                      options.max_context_tokens);
    }
    TAKT_RETURN_IF_ERROR(check_pages(range, state.name, options.n_pages[state.group], options.page_tokens));
    const uint64_t need = range.n_positions * state_bytes_per_token(state, dtype);
    if (n_bytes == need) return {};
    return refuse("State {}: {} positions of {} take {} bytes, not {}.", state.name, range.n_positions,
                  dtype_info(dtype).name, need, n_bytes);
}

Status check_recurrent_range(const Program& program, const CompileOptions& options,
                             const RecurrentRange& range, uint64_t n_bytes) {
    if (range.state.index >= program.recurrent_states.size()) {
        return refuse("Recurrent state {} doesn't exist, the program has {}.", range.state.index,
                      program.recurrent_states.size());
    }
    const RecurrentStateDecl& state = program.state(range.state);
    if (range.slot >= options.n_pages[state.group]) {
        return refuse("State {}: slot {} is asked for, the group has {}.", state.name, range.slot,
                      options.n_pages[state.group]);
    }
    const uint64_t end = uint64_t{range.first} + range.number, need = range.number * sizeof(float);
    if (range.number == 0 || end > state.n_floats) {
        return refuse("State {}: {} floats from {} on are asked for, it has {}.", state.name, range.number,
                      range.first, state.n_floats);
    }
    if (n_bytes == need) return {};
    return refuse("State {}: {} floats take {} bytes, not {}.", state.name, range.number, need, n_bytes);
}

}  // namespace takt
