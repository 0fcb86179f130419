// Every pointer and count of the struct is checked before it is read.
#include "api/request_options.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/arguments.h"
#include "api/defaults.h"
#include "api/guard.h"
#include "api/slo.h"
#include "api/struct_copy.h"

namespace takt::api {
namespace {

constexpr size_t kMaxItems = (size_t{1} << 31) - 1;  // of any list, and bytes of a prompt

Status check_list(const void* items, size_t count, std::string_view name, std::string_view unit = "items") {
    if (items == nullptr && count > 0) {
        return Status(StatusCode::invalid_argument, fmt::format("{} is NULL, its count is {}.", name, count));
    }
    if (count > kMaxItems) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("{} has {} {}, at most {} are read.", name, count, unit, kMaxItems));
    }
    return {};
}

Status read_stops(const takt_request_options& given, RequestOptions& options) {
    TAKT_RETURN_IF_ERROR(check_list(given.stop_strings, given.stop_strings_count, "stop_strings"));
    TAKT_RETURN_IF_ERROR(check_list(given.stop_ids, given.stop_ids_count, "stop_ids"));
    for (size_t i = 0; i < given.stop_strings_count; ++i) {
        const char* text = given.stop_strings[i];
        if (text == nullptr)
            return Status(StatusCode::invalid_argument, fmt::format("stop_strings[{}] is NULL.", i));
        if (*text == '\0')
            return Status(StatusCode::invalid_argument, fmt::format("stop_strings[{}] is empty.", i));
        options.stop_strings.emplace_back(text);
    }
    options.stop_ids.assign(given.stop_ids, given.stop_ids + given.stop_ids_count);
    return {};
}

Status read_sampler(const takt_request_options& given, SamplerOptions& sampler) {
    TAKT_RETURN_IF_ERROR(check_list(given.logit_bias_ids, given.logit_bias_count, "logit_bias_ids"));
    TAKT_RETURN_IF_ERROR(check_list(given.logit_bias_values, given.logit_bias_count, "logit_bias_values"));
    sampler.temperature = given.temperature;
    sampler.top_k = given.top_k;
    sampler.top_p = given.top_p;
    sampler.min_p = given.min_p;
    sampler.repetition_penalty = given.repetition_penalty;
    sampler.frequency_penalty = given.frequency_penalty;
    sampler.presence_penalty = given.presence_penalty;
    sampler.penalty_tokens = given.penalty_tokens;
    sampler.seed = given.seed;
    for (size_t i = 0; i < given.logit_bias_count; ++i) {
        sampler.logit_bias.emplace_back(given.logit_bias_ids[i], given.logit_bias_values[i]);
    }
    return {};
}

void read_callbacks(const takt_request_options& given, RequestOptions& options) {
    if (given.on_event != nullptr) {
        options.on_event = [call = given.on_event, user_data = given.user_data](const Event& event) {
            const takt_event out = to_c(event);
            return call(user_data, &out) == TAKT_CONTINUE;  // what it throws ends the request
        };
    }
    if (given.on_release != nullptr) {
        options.on_release = [call = given.on_release, user_data = given.user_data] {
            guard_void([&] { call(user_data); });
        };
    }
}

Result<RequestOptions> read_all_but_prompt(const takt_request_options& given) {
    TAKT_RETURN_IF_ERROR(check_switch(given.ignore_eos, "ignore_eos"));
    TAKT_RETURN_IF_ERROR(check_switch(given.keep_state, "keep_state"));
    TAKT_RETURN_IF_ERROR(
        check_flags(given.prompt_flags, TAKT_ADD_SPECIAL | TAKT_PARSE_SPECIAL, "prompt_flags"));
    RequestOptions options;
    options.max_tokens = given.max_tokens;
    options.ignore_eos = given.ignore_eos != 0;
    options.deadline_ns = given.deadline_ns;
    options.priority = given.priority;
    TAKT_RETURN_IF_ERROR(check_choice(given.drafts, TAKT_DRAFTS_MODEL, "drafts", "TAKT_DRAFTS_…"));
    TAKT_RETURN_IF_ERROR(
        check_choice(given.draft_rule, TAKT_DRAFT_RULE_REJECTION, "draft_rule", "TAKT_DRAFT_RULE_…"));
    TAKT_RETURN_IF_ERROR(
        check_choice(given.context_policy, TAKT_CONTEXT_SLIDE, "context_policy", "TAKT_CONTEXT_…"));
    options.drafts = static_cast<DraftSource>(given.drafts);
    options.max_drafts = given.max_drafts;
    options.reject_drafts = given.draft_rule == TAKT_DRAFT_RULE_REJECTION;
    options.keep_state = given.keep_state != 0;
    options.context_policy = static_cast<ContextPolicy>(given.context_policy);
    options.pinned_tokens = given.pinned_tokens;
    options.turn = std::max(1u, given.turn);
    TAKT_RETURN_IF_ERROR(check_reserved(given.reserved, "reserved"));
    const Result<std::optional<Slo>> slo = read_slo(given.slo);
    if (!slo.ok()) return slo.status();
    options.slo = *slo;
    TAKT_RETURN_IF_ERROR(read_stops(given, options));
    TAKT_RETURN_IF_ERROR(read_sampler(given, options.sampler));
    read_callbacks(given, options);
    return options;
}

Result<std::vector<int32_t>> read_prompt(const takt_request_options& given, const Model& model) {
    TAKT_RETURN_IF_ERROR(check_list(given.prompt, given.prompt_bytes, "prompt", "bytes"));
    TAKT_RETURN_IF_ERROR(check_list(given.prompt_ids, given.prompt_ids_count, "prompt_ids"));
    if (given.prompt != nullptr && given.prompt_ids != nullptr) {
        return Status(StatusCode::invalid_argument,
                      "prompt and prompt_ids are both given; a request has one of them.");
    }
    if (given.prompt_ids != nullptr) {
        return std::vector<int32_t>(given.prompt_ids, given.prompt_ids + given.prompt_ids_count);
    }
    if (given.prompt == nullptr)
        return Status(StatusCode::prompt_empty,
                      "The prompt is empty: neither prompt nor prompt_ids is given.");
    const EncodeOptions encode{(given.prompt_flags & TAKT_ADD_SPECIAL) != 0,
                               (given.prompt_flags & TAKT_PARSE_SPECIAL) != 0};
    return model.tokenizer()->encode({given.prompt, given.prompt_bytes}, encode);
}

}  // namespace

Result<RequestOptions> read_request_options(const takt_request_options* given) {
    const Result<takt_request_options> read = read_struct(given, "options", default_request_options());
    if (!read.ok()) return read.status();
    return read_all_but_prompt(*read);
}

Result<RequestOptions> read_request_options(const takt_request_options* given, const Model& model) {
    const Result<takt_request_options> read = read_struct(given, "options", default_request_options());
    if (!read.ok()) return read.status();
    Result<RequestOptions> options = read_all_but_prompt(*read);
    if (!options.ok()) return options;
    Result<std::vector<int32_t>> ids = read_prompt(*read, model);
    if (!ids.ok()) return ids.status();
    options->prompt_ids = std::move(*ids);
    return options;
}

takt_event to_c(const Event& event) {
    takt_event out{};
    out.struct_size = sizeof out;
    out.text = event.text.data() != nullptr ? event.text.data() : "";
    out.text_bytes = event.text.size();
    out.message = event.message.data() != nullptr ? event.message.data() : "";
    out.message_bytes = event.message.size();
    out.type = static_cast<int32_t>(event.type);
    out.token_id = event.token_id;
    out.token_index = event.token_index;
    out.finish_reason = static_cast<int32_t>(event.finish_reason);
    out.status = to_c(event.status);
    out.step_rows = event.step_rows;
    out.submitted_ns = event.submitted_ns;
    out.scheduled_ns = event.scheduled_ns;
    out.computed_ns = event.computed_ns;
    out.ready_ns = event.ready_ns;
    out.delivered_ns = event.delivered_ns;
    out.compute_ns = event.compute_ns;
    out.step_tokens = event.step_tokens;
    out.step_token_index = event.step_token_index;
    out.dropped_tokens = event.dropped_tokens;
    out.n_slides = event.n_slides;
    out.cached_tokens = event.cached_tokens;
    out.request_id = event.request;
    out.gap = to_c(event.gap);
    return out;
}

}  // namespace takt::api
