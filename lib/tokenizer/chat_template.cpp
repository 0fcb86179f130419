// The border of the template interpreter: sources and contexts checked, its one exception turned into a
// status.
#include "tokenizer/chat_template.h"

#include <new>

#include <fmt/format.h>

#include "tokenizer/jinja/context.h"
#include "tokenizer/jinja/evaluator.h"
#include "tokenizer/jinja/lexer.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/text.h"
#include "base/utf8.h"

namespace takt {

struct ChatTemplate::Impl {
    ChatTemplateLimits limits;
    jinja::Template tree;
};

namespace {

Status template_error(const jinja::Template& tree, const jinja::Error& error, size_t offset) {
    const auto place =
        jinja::line_column(tree.source, error.offset == jinja::kNoOffset ? offset : error.offset);
    // A template's own exception often brings its full stop.
    const bool ended =
        error.message.ends_with('.') || error.message.ends_with('!') || error.message.ends_with('?');
    return Status(StatusCode::template_error,
                  fmt::format("Chat template, line {}, column {}: {}{}", place.line, place.column,
                              error.message, ended ? "" : "."));
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string_view source,
                                                                const ChatTemplateLimits& limits) {
    try {
        if (source.size() > limits.max_template_bytes) {
            return Status(StatusCode::template_error,
                          fmt::format("Chat template has {} bytes, the limit is {} bytes.", source.size(),
                                      limits.max_template_bytes));
        }
        if (const size_t end = utf8_valid_end(source, 0); end < source.size()) {
            return Status(StatusCode::template_error,
                          fmt::format("Chat template isn't UTF-8 at byte {}.", end));
        }
        auto impl = std::make_unique<Impl>();
        impl->limits = limits;
        impl->tree.source = jinja::normalize_source(source);
        // Constants are made without the limits of a render: the source's own size bounds them.
        ChatTemplateLimits unlimited = limits;
        unlimited.max_steps = UINT64_MAX;
        jinja::Evaluator machine(impl->tree, unlimited, 0, {});
        try {
            jinja::Parser(impl->tree, impl->limits, machine).run();
        } catch (const jinja::Error& error) {
            return template_error(impl->tree, error, 0);
        }
        return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(impl)));
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::out_of_memory, "No memory is left to parse the chat template.");
    } catch (const std::exception& error) {
        return Status(StatusCode::internal, fmt::format("Chat template can't be parsed: {}.", error.what()));
    }
}

Result<std::string> ChatTemplate::render(std::string_view context_json, int64_t now_unix_seconds) const {
    return render_value(context_json, nullptr, now_unix_seconds);
}

Result<std::string> ChatTemplate::render_chat(std::string_view chat_json, const ChatVariables& added,
                                              int64_t now_unix_seconds) const {
    return render_value(chat_json, &added, now_unix_seconds);
}

Result<std::string> ChatTemplate::render_value(std::string_view json, const ChatVariables* added,
                                               int64_t now_unix_seconds) const {
    try {
        Result<jinja::Value> context = jinja::parse_context(impl_->limits, json);
        if (context.ok() && added) context = jinja::chat_context(*context, *added);
        if (!context.ok()) return context.status();
        jinja::Evaluator evaluator(impl_->tree, impl_->limits, now_unix_seconds, std::move(*context));
        try {
            return evaluator.run();
        } catch (const jinja::Error& error) {
            return template_error(impl_->tree, error, evaluator.offset);
        }
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::out_of_memory, "No memory is left to render the chat template.");
    } catch (const std::exception& error) {
        return Status(StatusCode::internal,
                      fmt::format("Chat template can't be rendered: {}.", error.what()));
    }
}

Result<std::string> end_at_final_message(std::string_view rendered, std::string_view final_content) {
    using jinja::Side;
    const std::string_view bare = jinja::strip(final_content);
    const size_t place = rendered.rfind(bare);
    if (place == std::string_view::npos) {
        return Status(
            StatusCode::template_error,
            "Chat template changes the final message, so that the prompt can't be continued after it.");
    }
    // White space at the content's end counts if the template kept it.
    const size_t with_tail = jinja::strip(final_content, Side::left).size();
    const bool kept = rendered.substr(place, with_tail) == final_content;
    return std::string(rendered.substr(0, place + (kept ? with_tail : bare.size())));
}

}  // namespace takt
