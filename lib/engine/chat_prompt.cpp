// The file's own special tokens and the time of day.
#include "engine/chat_prompt.h"

#include <chrono>

#include "base/utf8.h"

namespace takt {
namespace {

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
    return id < 0 ? std::string() : valid_utf8(tokenizer.token_bytes(id, /*keep_special=*/true));
}

}  // namespace

Result<std::string> render_chat(const Model& model, std::string_view json, bool add_generation_prompt,
                                std::optional<int64_t> now_unix_seconds) {
    auto chat_template = model.chat_template();
    if (!chat_template.ok()) return chat_template.status();
    const Tokenizer& tokenizer = *model.tokenizer();
    const ChatVariables added{add_generation_prompt, token_text(tokenizer, tokenizer.bos_id()),
                              token_text(tokenizer, tokenizer.eos_id())};
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    return (*chat_template)->render_chat(json, added, now_unix_seconds.value_or(now.count()));
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
