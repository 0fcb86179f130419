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
        error = fmt::format("Template variables are not JSON: unexpected input at byte {}.", position);
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
            error = fmt::format("Template variables nest deeper than the limit of {} levels.", max_depth_);
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
        return Status(
            StatusCode::invalid_argument,
            fmt::format("Template variables must be one JSON object, at byte 0 begins a value of type {}.",
                        type_name(builder.result)));
    }
    return std::move(builder.result);
}

}  // namespace takt::jinja
