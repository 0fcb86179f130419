// Keeps the messages, renders them anew each turn, and takes a failed turn back.
#include "engine/session.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "engine/chat_prompt.h"

namespace takt {
namespace {

struct Message {
    std::string_view role;  // a literal
    std::string content;
};

// What isn't UTF-8 becomes U+FFFD: JSON holds text only.
std::string chat_json(const std::vector<Message>& messages) {
    JsonWriter json;
    json.begin_object();
    json.key("messages");
    json.begin_array();
    for (const Message& message : messages) {
        json.begin_object();
        json.member("role", message.role);
        json.member("content", message.content);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    return json.take();
}

}  // namespace

struct Session::Impl {
    std::shared_ptr<Engine> engine;
    std::string system;
    std::vector<Message> messages;
    std::mutex mutex;  // guards the rest
    bool in_turn = false, cancel_requested = false;
    Request* request = nullptr;  // the turn's, while it runs

    void start_over();
    bool begin_turn();
    Result<std::unique_ptr<Request>> submit(RequestOptions options);
    void forget_request();
};

// From send() to its return, on every path.
struct Session::Turn {
    Impl& impl;
    ~Turn() {
        const std::lock_guard lock(impl.mutex);
        impl.in_turn = false;
    }
};

void Session::Impl::start_over() {
    messages.clear();
    if (!system.empty()) messages.push_back({"system", system});
}

bool Session::Impl::begin_turn() {
    const std::lock_guard lock(mutex);
    if (in_turn) return false;
    in_turn = true;
    cancel_requested = false;
    return true;
}

// A cancel that comes meanwhile waits for the request it is meant for; one that came before reaches it here.
Result<std::unique_ptr<Request>> Session::Impl::submit(RequestOptions options) {
    const std::lock_guard lock(mutex);
    Result<std::unique_ptr<Request>> submitted = engine->submit(std::move(options));
    if (!submitted.ok()) return submitted;
    request = submitted->get();
    if (cancel_requested) request->cancel();
    return submitted;
}

void Session::Impl::forget_request() {
    const std::lock_guard lock(mutex);
    request = nullptr;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Engine> engine, std::string system) {
    // Without a template there is no conversation: say so now, not at the first turn.
    if (auto chat_template = engine->model().chat_template(); !chat_template.ok())
        return chat_template.status();
    auto impl = std::make_unique<Impl>();
    impl->engine = std::move(engine);
    impl->system = std::move(system);
    impl->start_over();
    return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<std::unique_ptr<Request>> Session::send(std::string_view text, RequestOptions options) {
    if (impl_->engine->inside_callback()) {
        return Status(StatusCode::invalid_state,
                      "send() waits, which is not possible inside a callback of the same engine.");
    }
    if (!impl_->begin_turn())
        return Status(StatusCode::invalid_state, "The session is in the middle of another turn.");
    const Turn turn{*impl_};
    const Model& model = impl_->engine->model();
    if (!options.submitted_ns) options.submitted_ns = impl_->engine->runtime().clock().now_ns();
    std::vector<Message> messages = impl_->messages;
    messages.push_back({"user", std::string(text)});
    const Result<std::string> prompt = render_chat(model, chat_json(messages), true);
    if (!prompt.ok()) return prompt.status();
    Result<std::vector<int32_t>> ids = encode_rendered(model, *prompt);
    if (!ids.ok()) return ids.status();
    options.prompt_ids = std::move(*ids);
    options.turn = 1 + static_cast<uint32_t>(std::ranges::count(impl_->messages, "user", &Message::role));
    const std::function<bool(const Event&)> on_event = std::move(options.on_event);
    options.on_event = nullptr;

    Result<std::unique_ptr<Request>> request = impl_->submit(std::move(options));
    if (!request.ok()) return request;
    std::string answer;
    bool has_token = false;
    const Status ran = (*request)->pump([&](const Event& event) {
        has_token = has_token || event.type == EventType::token;
        answer += event.text;
        return !on_event || on_event(event);
    });
    impl_->forget_request();
    TAKT_RETURN_IF_ERROR(ran);
    if ((*request)->status().ok() && has_token) {
        messages.push_back({"assistant", std::move(answer)});
        impl_->messages = std::move(messages);
    }
    return request;
}

void Session::cancel() {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->in_turn) impl_->cancel_requested = true;
    if (impl_->request) impl_->request->cancel();
}

void Session::reset() {
    impl_->start_over();
}

}  // namespace takt
