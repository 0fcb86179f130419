// The model file's own Jinja template: roles to prompt text. An unsupported construct is an error with line
// and column.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace takt {

struct ChatTemplateLimits {
    uint64_t max_steps = 2'000'000;         // evaluated nodes, items touched, 256 bytes copied
    uint32_t max_depth = 200;               // nesting of expressions, blocks, macro calls and values
    uint64_t max_output_bytes = 16u << 20;  // and of every text made on the way
    uint64_t max_template_bytes = 1u << 20;
};

// What a template expects beside the conversation.
struct ChatVariables {
    bool add_generation_prompt = true;  // in any case, whatever the JSON says
    std::string bos_token, eos_token;
};

class ChatTemplate {
public:
    // Parses; unknown filters, tests and statements are refused here, by name, line and column.
    static Result<std::shared_ptr<const ChatTemplate>> parse(std::string_view source,
                                                             const ChatTemplateLimits& limits = {});
    ~ChatTemplate();

    // context_json: one JSON object whose members are the template's variables, key order kept (messages,
    // tools, add_generation_prompt, bos_token, …). Thread-safe. Errors: invalid_argument for JSON that isn't
    // an object (with byte offset), template_error for everything the template does wrong. now_unix_seconds
    // serves strftime_now, which knows no time zone: add the zone's offset for local time.
    Result<std::string> render(std::string_view context_json, int64_t now_unix_seconds) const;
    // The same for a conversation: messages must be an array of objects with a role. added stand in for
    // members that chat_json lacks; tools and documents are none where absent.
    Result<std::string> render_chat(std::string_view chat_json, const ChatVariables& added,
                                    int64_t now_unix_seconds) const;

private:
    struct Impl;
    Result<std::string> render_value(std::string_view json, const ChatVariables* added,
                                     int64_t now_unix_seconds) const;
    explicit ChatTemplate(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

// For a conversation whose last message the model shall continue (rendered without a generation prompt): the
// prompt up to the end of that message's content, without what the template writes behind it. As
// transformers' continue_final_message. template_error if the content isn't in the prompt.
Result<std::string> end_at_final_message(std::string_view rendered, std::string_view final_content);

}  // namespace takt
