// Templates of some files write BOS themselves, others leave it to the tokenizer.
#include "prompt.h"

#include <nlohmann/json.hpp>

#include "failure.h"

namespace cli {
namespace {

std::string messages_json(const std::string& system, const std::string& message) {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();
    if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
    messages.push_back({{"role", "user"}, {"content", message}});
    try {
        return nlohmann::ordered_json{{"messages", std::move(messages)}}.dump();
    } catch (const nlohmann::json::exception&) {
        throw Failure(
            "The message is not valid UTF-8; a chat template takes text only. With --raw any bytes are a "
            "prompt.");
    }
}

}  // namespace

bool adds_bos(const takt::Model& model) {
    const int32_t bos = model.info().bos_id;
    const std::vector<int32_t> ids = model.tokenize("", TAKT_ADD_SPECIAL);
    return bos >= 0 && !ids.empty() && ids.front() == bos;
}

std::vector<int32_t> chat_ids(const takt::Model& model, const std::string& system,
                              const std::string& message) {
    std::string text;
    try {
        text = model.render_chat(messages_json(system, message));
    } catch (const takt::Error& error) {
        if (error.status() != TAKT_ERROR_TEMPLATE_MISSING) throw;
        throw Failure(
            "The file has no chat template (tokenizer.chat_template); --raw takes the prompt as it is.");
    }
    std::vector<int32_t> ids = model.tokenize(text, TAKT_PARSE_SPECIAL);
    const int32_t bos = model.info().bos_id;
    if (adds_bos(model) && (ids.empty() || ids.front() != bos)) ids.insert(ids.begin(), bos);
    return ids;
}

}  // namespace cli
