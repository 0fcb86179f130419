// Keeps the messages, renders them anew each turn, and takes a failed turn back.
#include "engine/session.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "engine/chat_prompt.h"

namespace takt {

struct Session::Impl {
    std::shared_ptr<Engine> engine;
    std::string system;
    nlohmann::ordered_json messages;
    std::mutex mutex;                   // guards cancel_requested and cancel_running
    bool running = false, cancel_requested = false;

    void start_over() {
        messages = nlohmann::ordered_json::array();
        if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
    }
    bool cancelled() {
        const std::lock_guard lock(mutex);
        return cancel_requested;
    }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Engine> engine, std::string system) {
    // Without a template there is no conversation: say so now, not at the first turn.
    if (auto chat_template = engine->model().chat_template(); !chat_template.ok()) return chat_template.status();
    auto impl = std::make_unique<Impl>();
    impl->engine = std::move(engine);
    impl->system = std::move(system);
    impl->start_over();
    return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<std::unique_ptr<Request>> Session::send(std::string_view text, RequestOptions options) {
    {
        const std::lock_guard lock(impl_->mutex);
        if (impl_->running) return Status(StatusCode::invalid_state, "The session is in the middle of another turn.");
        impl_->running = true;
        impl_->cancel_requested = false;
    }
    struct Running {
        Impl& impl;
        ~Running() {
            const std::lock_guard lock(impl.mutex);
            impl.running = false;
        }
    } const running{*impl_};

    nlohmann::ordered_json chat;
    chat["messages"] = impl_->messages;
    chat["messages"].push_back({{"role", "user"}, {"content", std::string(text)}});
    auto prompt = render_chat(impl_->engine->model(), chat.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), true);
    if (!prompt.ok()) return prompt.status();
    auto ids = encode_rendered(impl_->engine->model(), *prompt);
    if (!ids.ok()) return ids.status();
    options.prompt_ids = std::move(*ids);

    std::string answer;
    bool has_token = false;
    options.on_event = [&, inner = std::move(options.on_event)](const Event& event) {
        has_token = has_token || event.type == EventType::token;
        answer += event.text;
        const bool go_on = !inner || inner(event);
        return go_on && !impl_->cancelled();
    };
    auto request = impl_->engine->generate(std::move(options));
    if (!request.ok()) return request;
    if ((*request)->status().ok() && has_token) {
        impl_->messages = std::move(chat["messages"]);
        impl_->messages.push_back({{"role", "assistant"}, {"content", std::move(answer)}});
    }
    return request;
}

void Session::cancel() {
    const std::lock_guard lock(impl_->mutex);
    impl_->cancel_requested = true;
}

void Session::reset() { impl_->start_over(); }

}  // namespace takt
