// Nothing is allocated or written before the number that asks for it was held against what this end knows.
#include "state/state_reader.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backend/state_form.h"

namespace takt {
namespace {

template <typename... Args>
Status mismatch(fmt::format_string<Args...> format, Args&&... args) {
    return Status(StatusCode::state_mismatch, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status corrupt(fmt::format_string<Args...> format, Args&&... args) {
    return Status(StatusCode::state_corrupt,
                  "The exported state is damaged: " + fmt::format(format, std::forward<Args>(args)...) + ".");
}

std::string type_name(uint32_t id) {
    const DTypeInfo* info = find_dtype(id);
    return info != nullptr ? std::string(info->name) : fmt::format("type {}", id);
}

Status check_row(const std::string& name, const StateRow& found, const StateRow& here) {
    if (found.n_kv_heads == 0 || here.n_kv_heads == 0) {  // recurrent
        if (found == here) return {};
        if (found.n_kv_heads == 0 && here.n_kv_heads == 0 && found.key_dim != here.key_dim)
            return mismatch("{} has {} floats in the exported state, {} here.", name, found.key_dim,
                            here.key_dim);
        return mismatch("{} is a state of another kind or group in the exported state.", name);
    }
    struct Field {
        const char* what;
        uint32_t found, here;
    };
    for (const Field& field :
         {Field{"group", found.group, here.group}, Field{"window", found.window, here.window},
          Field{"a number of key heads of", found.n_kv_heads, here.n_kv_heads},
          Field{"key dimension", found.key_dim, here.key_dim},
          Field{"value dimension", found.value_dim, here.value_dim}}) {
        if (field.found == field.here) continue;
        return mismatch("{} has {} {} in the exported state, {} here.", name, field.what, field.found,
                        field.here);
    }
    if (found.dtype == here.dtype) return {};
    return mismatch("Keys and values of {} are {} in the exported state, {} here.", name,
                    type_name(found.dtype), type_name(here.dtype));
}

}  // namespace

StateReader::StateReader(const StateLayout& layout, ReadBytes read)
    : layout_(layout), read_(std::move(read)), chunks_(layout, 0, 0) {}

Status StateReader::begin(uint32_t max_tokens) {
    read_bytes_ = 0;
    TAKT_RETURN_IF_ERROR(read_header());
    TAKT_RETURN_IF_ERROR(check_numbers(max_tokens));
    chunks_ = StateChunks(layout_, header_.n_tokens, header_.n_computed);
    buffer_.resize(chunks_.largest_bytes());
    return read_ids();
}

Status StateReader::read_header() {
    TAKT_RETURN_IF_ERROR(take(std::as_writable_bytes(std::span(&header_, 1))));
    const StateHeader due = header_of(layout_, {});
    if (std::memcmp(header_.magic, due.magic, sizeof due.magic) != 0)
        return Status(StatusCode::state_corrupt,
                      "This is no exported state: it doesn't begin with TAKTSTAT.");
    if (header_.version != kStateVersion) {
        return mismatch("The exported state has version {}, this takt reads {}.", header_.version,
                        kStateVersion);
    }
    const uint64_t header_bytes = sizeof header_ + uint64_t{header_.n_states} * sizeof(StateRow);
    if (header_.n_states > kMaxStates || header_.header_bytes != header_bytes) {
        return corrupt("its header tells of {} states and has {} bytes", header_.n_states,
                       header_.header_bytes);
    }
    buffer_.resize(header_.header_bytes);
    std::memcpy(buffer_.data(), &header_, sizeof header_);
    const std::span<std::byte> table = std::span(buffer_).subspan(sizeof header_);
    TAKT_RETURN_IF_ERROR(take(table));
    checksum_ = header_checksum(buffer_);
    if (checksum_ != header_.checksum) {
        return corrupt("its header has checksum {:016x}, its bytes give {:016x}", header_.checksum,
                       checksum_);
    }
    return check_layout(table);
}

Status StateReader::check_layout(std::span<const std::byte> table) const {
    if (header_.model != layout_.model) {
        return mismatch("The exported state is of model {:016x}, the one here is {:016x}.", header_.model,
                        layout_.model);
    }
    if (header_.n_states != layout_.states.size()) {
        return mismatch("The exported state has {} states of layers, the model here has {}.",
                        header_.n_states, layout_.states.size());
    }
    for (size_t i = 0; i < layout_.states.size(); ++i) {
        StateRow row;
        std::memcpy(&row, table.data() + i * sizeof row, sizeof row);
        TAKT_RETURN_IF_ERROR(check_row(layout_.states[i].name, row, row_of(layout_.states[i])));
    }
    return {};
}

Status StateReader::check_numbers(uint32_t max_tokens) const {
    const StateHeader& h = header_;
    if (h.n_tokens > max_tokens) {
        return Status(
            StatusCode::prompt_too_long,
            fmt::format("The exported state has {} tokens, there is room for {}.", h.n_tokens, max_tokens));
    }
    if (h.n_tokens == 0 || h.n_prompt > h.n_tokens || h.n_computed > h.n_tokens) {
        return corrupt("it tells of {} tokens, {} of the prompt and {} computed", h.n_tokens, h.n_prompt,
                       h.n_computed);
    }
    const uint64_t due = state_bytes(layout_, h.n_tokens, h.n_computed);
    if (h.total_bytes == due) return {};
    return corrupt("it tells of {} bytes, its {} tokens take {}", h.total_bytes, h.n_tokens, due);
}

Status StateReader::read_ids() {
    ids_.resize(header_.n_tokens);
    while (chunks_.current().kind == StateChunk::Kind::tokens) {
        const uint32_t first = chunks_.current().first;
        TAKT_RETURN_IF_ERROR(receive());
        std::memcpy(ids_.data() + first, payload().data(), payload().size());
        chunks_.next();
    }
    for (size_t i = 0; i < ids_.size(); ++i) {
        if (ids_[i] >= 0 && static_cast<uint32_t>(ids_[i]) < layout_.vocab_size) continue;
        return corrupt("its token {} is {}, the vocabulary has {}", i, ids_[i], layout_.vocab_size);
    }
    return {};
}

Status StateReader::receive() {
    const uint64_t at = read_bytes_;
    const std::span<std::byte> head = std::span(buffer_).first(kChunkHeadBytes);
    TAKT_RETURN_IF_ERROR(take(head));
    StateChunk found;
    uint64_t checksum = 0;
    std::memcpy(&found, head.data(), sizeof found);
    std::memcpy(&checksum, head.data() + sizeof found, sizeof checksum);
    if (found != chunks_.current())
        return corrupt("{} should begin at byte {}, and something else does", what_is_due(), at);
    TAKT_RETURN_IF_ERROR(take(payload()));
    checksum_ = chunk_checksum(found, payload(), checksum_);
    if (checksum == checksum_) return {};
    return corrupt("{}, at byte {}, should have checksum {:016x} and gives {:016x}", what_is_due(), at,
                   checksum, checksum_);
}

Status StateReader::store(Executable& executable, std::span<const BlockTable> tables) {
    const StateChunk& chunk = chunks_.current();
    const StateLayout::State& state = layout_.states[chunk.state];
    const Result<BlockTable> table = table_of(state, tables);
    if (!table.ok()) return table.status();
    if (chunk.kind == StateChunk::Kind::keys_and_values) {
        TAKT_RETURN_IF_ERROR(
            executable.write_state({{state.index}, *table, chunk.first, chunk.number}, payload()));
    } else {
        TAKT_RETURN_IF_ERROR(executable.write_recurrent(
            {{state.index}, slot_of(*table), chunk.first, chunk.number}, payload()));
    }
    chunks_.next();
    return {};
}

Status StateReader::read_rest(Executable& executable, std::span<const BlockTable> tables) {
    while (!done()) {
        TAKT_RETURN_IF_ERROR(receive());
        TAKT_RETURN_IF_ERROR(store(executable, tables));
    }
    return finish();
}

Status StateReader::check_nothing_follows() {
    std::byte one{};
    if (!read_({&one, 1})) return {};
    return corrupt("more bytes follow its end mark, which ends at byte {}", read_bytes_);
}

Status StateReader::take(std::span<std::byte> out) {
    if (out.empty() || read_(out)) {
        read_bytes_ += out.size();
        return {};
    }
    return corrupt("{} bytes are due from byte {} on, and it ends before", out.size(), read_bytes_);
}

std::string StateReader::what_is_due() const {
    const StateChunk& chunk = chunks_.current();
    switch (chunk.kind) {
        case StateChunk::Kind::tokens:
            return fmt::format("the chunk of tokens from {} on", chunk.first);
        case StateChunk::Kind::keys_and_values:
            return fmt::format("the chunk of {} from position {} on", layout_.states[chunk.state].name,
                               chunk.first);
        case StateChunk::Kind::recurrent:
            return fmt::format("the chunk of {} from float {} on", layout_.states[chunk.state].name,
                               chunk.first);
        case StateChunk::Kind::end:
            break;
    }
    return "the end mark";
}

}  // namespace takt
