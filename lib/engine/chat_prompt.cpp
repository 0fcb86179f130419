// Fills in what every template may ask for.
#include "engine/chat_prompt.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace takt {
namespace {

constexpr int kMaxJsonDepth = 128;  // deeper values would cost stack when written out again

Result<nlohmann::ordered_json> parse_object(std::string_view json) {
    bool too_deep = false;
    const auto watch_depth = [&](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
        too_deep = too_deep || depth > kMaxJsonDepth;
        return !too_deep;
    };
    nlohmann::ordered_json value;
    try {
        value = nlohmann::ordered_json::parse(json, watch_depth);
    } catch (const nlohmann::ordered_json::parse_error& error) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("The chat JSON is not valid at byte {}.", error.byte));
    }
    if (too_deep) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("The chat JSON is nested deeper than {} levels.", kMaxJsonDepth));
    }
    if (!value.is_object()) return Status(StatusCode::invalid_argument, "The chat JSON is not an object.");
    return value;
}

// Each message must be an object with a role; content is the template's own business.
Status check_messages(const nlohmann::ordered_json& value) {
    const auto messages = value.find("messages");
    if (messages == value.end())
        return Status(StatusCode::invalid_argument, "The chat JSON has no member messages.");
    if (!messages->is_array())
        return Status(StatusCode::invalid_argument, "The chat JSON's messages is not an array.");
    for (size_t i = 0; i < messages->size(); ++i) {
        const auto& message = (*messages)[i];
        if (!message.is_object())
            return Status(StatusCode::invalid_argument, fmt::format("messages[{}] is not an object.", i));
        const auto role = message.find("role");
        if (role == message.end() || !role->is_string()) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("messages[{}].role is missing or not a string.", i));
        }
    }
    return Status();
}

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
    return id < 0 ? std::string() : tokenizer.token_bytes(id, /*keep_special=*/true);
}

}  // namespace

Result<std::string> render_chat(const Model& model, std::string_view json, bool add_generation_prompt,
                                std::optional<int64_t> now_unix_seconds) {
    auto chat_template = model.chat_template();
    if (!chat_template.ok()) return chat_template.status();
    auto value = parse_object(json);
    if (!value.ok()) return value.status();
    TAKT_RETURN_IF_ERROR(check_messages(*value));
    const auto set_default = [&](const char* name, nlohmann::ordered_json what) {
        if (!value->contains(name)) (*value)[name] = std::move(what);
    };
    (*value)["add_generation_prompt"] = add_generation_prompt;
    set_default("bos_token", token_text(*model.tokenizer(), model.tokenizer()->bos_id()));
    set_default("eos_token", token_text(*model.tokenizer(), model.tokenizer()->eos_id()));
    set_default("tools", nullptr);
    set_default("documents", nullptr);
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    const std::string context = value->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return (*chat_template)->render(context, now_unix_seconds.value_or(now.count()));
}

Result<std::vector<int32_t>> encode_rendered(const Model& model, std::string_view text) {
    const Tokenizer& tokenizer = *model.tokenizer();
    auto ids = tokenizer.encode(text, {/*add_special=*/false, /*parse_special=*/true});
    if (!ids.ok()) return ids;
    const bool has_bos = !ids->empty() && ids->front() == tokenizer.bos_id();
    if (tokenizer.adds_bos() && tokenizer.bos_id() >= 0 && !has_bos)
        ids->insert(ids->begin(), tokenizer.bos_id());
    return ids;
}

}  // namespace takt
