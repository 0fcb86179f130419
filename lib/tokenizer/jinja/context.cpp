// JSON events straight to values: no tree in between, and no recursion that hostile nesting could deepen.
#include "tokenizer/jinja/context.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

Value make_text(std::string bytes) {
    auto text = std::make_shared<Text>();
    text->n_chars = count_chars(bytes);
    text->bytes = std::move(bytes);
    return Value(std::shared_ptr<const Text>(std::move(text)));
}

// The names and signatures are nlohmann's SAX interface.
class Builder {
public:
    explicit Builder(uint32_t max_depth) : max_depth_(max_depth) {}

    bool null() { return add(None{}); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(int64_t value) { return add(static_cast<Int>(value)); }
    bool number_unsigned(uint64_t value) { return add(static_cast<Int>(value)); }
    bool number_float(double value, const std::string& digits) {
        if (digits.find_first_of(".eE") != std::string::npos) return add(value);
        const auto integer = parse_integer(digits, 10);  // one that 64 bits don't hold
        return integer ? add(*integer) : add(value);
    }
    bool string(std::string& value) { return add(make_text(std::move(value))); }
    bool binary(nlohmann::json::binary_t&) { return false; }

    bool start_object(size_t) { return open(true); }
    bool start_array(size_t) { return open(false); }
    bool key(std::string& name) {
        open_.back().key = make_text(std::move(name));
        return true;
    }
    bool end_object() {
        const auto dict = std::move(open_.back().dict);
        open_.pop_back();
        return add(Value(std::shared_ptr<const Dict>(dict)));
    }
    bool end_array() {
        Values items = std::move(open_.back().items);
        open_.pop_back();
        uint32_t deepest = 0;
        for (const Value& item : items) deepest = std::max(deepest, depth_of(item));
        return add(Value(std::shared_ptr<const List>(
            std::make_shared<List>(std::move(items), Flavour::list, deepest + 1))));
    }
    bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& why) {
        (void)why;
        error = fmt::format("The chat JSON is not valid at byte {}.", position);
        return false;
    }

    Value result;
    std::string error;

private:
    struct Container {
        std::shared_ptr<Dict> dict;  // null: a list
        Values items;
        Value key;
    };

    bool open(bool object) {
        if (open_.size() >= max_depth_) {
            error = fmt::format("The chat JSON is nested deeper than {} levels.", max_depth_);
            return false;
        }
        open_.push_back({object ? std::make_shared<Dict>() : nullptr, {}, {}});
        return true;
    }

    bool add(Value value) {
        if (open_.empty()) {
            result = std::move(value);
        } else if (open_.back().dict) {
            open_.back().dict->set(std::move(open_.back().key), std::move(value));
        } else {
            open_.back().items.push_back(std::move(value));
        }
        return true;
    }

    uint32_t max_depth_;
    std::vector<Container> open_;
};

}  // namespace

Result<Value> parse_context(const ChatTemplateLimits& limits, std::string_view json) {
    Builder builder(limits.max_depth);
    if (!nlohmann::json::sax_parse(json.begin(), json.end(), &builder)) {
        return Status(StatusCode::invalid_argument, std::move(builder.error));
    }
    if (!builder.result.is_dict()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("The chat JSON is not an object: at byte 0 begins a value of type {}.",
                                  type_name(builder.result)));
    }
    return std::move(builder.result);
}

namespace {

// content is the template's own business.
Status check_messages(const Dict& chat) {
    const auto invalid = [](std::string text) {
        return Status(StatusCode::invalid_argument, std::move(text));
    };
    const Value* messages = chat.find(std::string_view("messages"));
    if (!messages) return invalid("The chat JSON has no member messages.");
    if (!messages->is_list()) return invalid("The chat JSON's messages is not an array.");
    const Values& items = messages->list().items;
    for (size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is_dict()) return invalid(fmt::format("messages[{}] is not an object.", i));
        const Value* role = items[i].dict().find(std::string_view("role"));
        if (!role || !role->is_text())
            return invalid(fmt::format("messages[{}].role is missing or not a string.", i));
    }
    return {};
}

}  // namespace

Result<Value> chat_context(const Value& parsed, const ChatVariables& added) {
    const Dict& chat = parsed.dict();
    TAKT_RETURN_IF_ERROR(check_messages(chat));
    const auto all = std::make_shared<Dict>();
    for (const auto& [key, value] : chat.items) all->set(key, value);
    const auto set_default = [&](std::string_view name, Value value) {
        if (!all->find(name)) all->set(make_text(std::string(name)), std::move(value));
    };
    all->set(make_text("add_generation_prompt"), added.add_generation_prompt);
    set_default("bos_token", make_text(added.bos_token));
    set_default("eos_token", make_text(added.eos_token));
    set_default("tools", None{});
    set_default("documents", None{});
    return Value(std::shared_ptr<const Dict>(all));
}

}  // namespace takt::jinja
