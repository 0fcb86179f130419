// Defaults, limits and the sizes that follow from them.
#include "engine/engine_options.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "engine/draft_model.h"
#include "engine/sequence_pages.h"

namespace takt {
namespace {

constexpr uint32_t kDefaultContext = 4096, kDefaultSequences = 16, kDefaultWaiting = 4096,
                   kDefaultChunk = 512;
constexpr uint32_t kMaxSequences = 4096, kMaxChunk = 16384, kMaxWaiting = 1u << 24;
constexpr uint32_t kDefaultPage = 32, kLeastPage = 16, kMaxPage = 4096;
constexpr uint64_t kMaxKvTokens = 1u << 30;
constexpr uint32_t kLeastSnapshots = 8;  // of recurrent state, beside the slots of those that run
// Rows of one step with logits, for evaluate(): scratch stays small where vocabularies are large.
constexpr uint32_t kOutputRows = 64;
constexpr uint64_t kOutputBytes = 32u << 20;

// Smaller ones would be gathered position by position: kernels read 16 at once.
Status check_page_tokens(uint32_t value) {
    if (std::has_single_bit(value) && value >= kLeastPage && value <= kMaxPage) return {};
    return Status(
        StatusCode::invalid_argument,
        fmt::format("page_tokens is {}, must be a power of two from {} to {}.", value, kLeastPage, kMaxPage));
}

// Its guesses are committed before anyone knows whether they are right, and taken back where they aren't.
Status check_draft_state(const Program& draft) {
    for (const StateGroup& group : draft.groups) {
        if (!group.recurrent) continue;
        return Status(StatusCode::unsupported,
                      fmt::format("The draft model keeps recurrent state (group {}), which can't be taken "
                                  "back where a guess was wrong.",
                                  group.name));
    }
    return {};
}

}  // namespace

Status check_range(std::string_view field, uint64_t value, uint64_t lowest, uint64_t highest) {
    if (value >= lowest && value <= highest) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} is {}, must be {} to {}.", field, value, lowest, highest));
}

Result<EngineOptions> resolve_options(EngineOptions options, const Model& model) {
    const uint32_t trained = model.config().context_tokens;
    if (options.context_tokens == 0) options.context_tokens = std::min(kDefaultContext, trained);
    if (options.max_sequences == 0) options.max_sequences = kDefaultSequences;
    if (options.max_waiting == 0) options.max_waiting = kDefaultWaiting;
    if (options.chunk_tokens == 0) options.chunk_tokens = kDefaultChunk;
    if (options.page_tokens == 0) options.page_tokens = kDefaultPage;
    if (options.kv_tokens == 0)
        options.kv_tokens = uint64_t{options.context_tokens} * std::min(options.max_sequences, 4u);
    if (options.context_tokens > trained) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("context_tokens is {}, the model was trained for {}.",
                                  options.context_tokens, trained));
    }
    TAKT_RETURN_IF_ERROR(check_range("max_sequences", options.max_sequences, 1, kMaxSequences));
    TAKT_RETURN_IF_ERROR(check_range("max_waiting", options.max_waiting, 1, kMaxWaiting));
    TAKT_RETURN_IF_ERROR(check_range("chunk_tokens", options.chunk_tokens, 1, kMaxChunk));
    TAKT_RETURN_IF_ERROR(check_page_tokens(options.page_tokens));
    // So that the longest request fits once it is alone.
    TAKT_RETURN_IF_ERROR(check_range("kv_tokens", options.kv_tokens, options.context_tokens, kMaxKvTokens));
    options.chunk_tokens = std::min(options.chunk_tokens, options.context_tokens);
    if (options.draft_model) {
        TAKT_RETURN_IF_ERROR(check_same_vocabulary(model, *options.draft_model));
        TAKT_RETURN_IF_ERROR(check_draft_state(*options.draft_model->program()));
    }
    return options;
}

EngineOptions options_of_draft(EngineOptions options) {
    options.context_tokens = std::min(options.context_tokens, options.draft_model->config().context_tokens);
    options.chunk_tokens = std::min(options.chunk_tokens, options.context_tokens);
    options.kv_dtype.reset();
    return options;
}

CompileOptions make_compile_options(const EngineOptions& options, const Program& program) {
    CompileOptions compile;
    compile.max_rows = std::max(options.chunk_tokens, options.max_sequences);
    compile.max_sequences = options.max_sequences;
    const uint64_t affordable =
        std::max<uint64_t>(1, kOutputBytes / (uint64_t{program.vocab_size} * sizeof(float)));
    const auto output_rows =
        static_cast<uint32_t>(std::min<uint64_t>({kOutputRows, options.chunk_tokens, affordable}));
    compile.max_output_rows = std::max(options.max_sequences, output_rows);
    compile.max_context_tokens = options.context_tokens;
    compile.page_tokens = options.page_tokens;
    compile.deterministic = options.deterministic;
    compile.kv_dtype = options.kv_dtype;
    // Every sequence may leave a part of its last page empty; kv_tokens fit however many share them.
    const uint64_t all =
        uint64_t{pages_for(options.kv_tokens, options.page_tokens)} + options.max_sequences - 1;
    for (const StateGroup& group : program.groups) {
        if (group.recurrent) {
            compile.n_pages.push_back(options.max_sequences +
                                      std::max(options.max_sequences, kLeastSnapshots));
            continue;
        }
        const uint64_t each =
            worst_case_pages(group, options.context_tokens, options.page_tokens, options.chunk_tokens);
        compile.n_pages.push_back(static_cast<uint32_t>(std::min(all, each * options.max_sequences)));
    }
    return compile;
}

}  // namespace takt
