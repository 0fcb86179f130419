// The tojson of chat templates: Python's json.dumps, byte for byte.
#include <algorithm>
#include <cmath>

#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/merge_sort.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

class JsonWriter {
public:
    JsonWriter(Machine& m, const JsonStyle& style) : m_(m), style_(style), sink_(m) {}
    std::string take() { return sink_.take(); }

    void write(const Value& value) {
        const Nest nest(m_.depth);
        m_.step();
        switch (value.kind()) {
            case Kind::none:
            case Kind::boolean:
            case Kind::integer:
            case Kind::floating:
                return sink_.add(scalar(value));
            case Kind::text:
                return write_text(value.str());
            case Kind::dict:
                return write_dict(value.dict());
            case Kind::list:
                if (value.list().flavour == Flavour::list || value.list().tuple())
                    return write_list(value.list());
                break;
            default:
                break;
        }
        if (value.is_undefined() && value.undefined().why) {
            fail("{}: an undefined value is not JSON serializable", *value.undefined().why);
        }
        fail("Object of type {} is not JSON serializable", type_name(value));
    }

private:
    static std::string scalar(const Value& value) {
        if (value.is_none()) return "null";
        if (value.is(Kind::boolean)) return value.boolean() ? "true" : "false";
        if (value.is(Kind::integer)) return int_repr(value.integer());
        const double number = value.floating();
        if (std::isnan(number)) return "NaN";
        if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
        return float_repr(number);
    }

    void write_text(std::string_view text) {
        std::string out = "\"";
        for (size_t pos = 0; pos < text.size();) {
            const Utf8Step step = char_at(text, pos);
            append_char(out, step.code_point, text.substr(pos, step.size));
            pos += step.size;
        }
        sink_.add(out + "\"");
    }

    void append_char(std::string& out, uint32_t c, std::string_view bytes) const {
        switch (c) {
            case '"':
                out += "\\\"";
                return;
            case '\\':
                out += "\\\\";
                return;
            case '\n':
                out += "\\n";
                return;
            case '\r':
                out += "\\r";
                return;
            case '\t':
                out += "\\t";
                return;
            case '\f':
                out += "\\f";
                return;
            case '\b':
                out += "\\b";
                return;
            default:
                break;
        }
        if (c >= 0x20 && (c < 0x7F || !style_.ensure_ascii)) {
            out += bytes;
        } else if (c < 0x10000) {
            out += fmt::format("\\u{:04x}", c);
        } else {
            out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10),
                               0xDC00 + ((c - 0x10000) & 0x3FF));
        }
    }

    void line() {
        if (!style_.indent) return;
        sink_.add("\n");
        for (uint32_t i = 0; i < level_; ++i) sink_.add(*style_.indent);
    }

    void write_list(const List& list) {
        if (list.items.empty()) return sink_.add("[]");
        sink_.add("[");
        ++level_;
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) sink_.add(style_.item_separator);
            line();
            write(list.items[i]);
        }
        --level_;
        line();
        sink_.add("]");
    }

    void write_dict(const Dict& dict) {
        if (dict.items.empty()) return sink_.add("{}");
        std::vector<const std::pair<Value, Value>*> order;
        for (const auto& item : dict.items) order.push_back(&item);
        if (style_.sort_keys) {
            merge_sort(order, [&](auto* a, auto* b) { return less(m_, a->first, b->first); });
        }
        sink_.add("{");
        ++level_;
        for (size_t i = 0; i < order.size(); ++i) {
            if (i > 0) sink_.add(style_.item_separator);
            line();
            write_key(order[i]->first);
            sink_.add(style_.key_separator);
            write(order[i]->second);
        }
        --level_;
        line();
        sink_.add("}");
    }

    void write_key(const Value& key) {
        if (key.is_text()) return write_text(key.str());
        if (!key.is_number() && !key.is_none()) {
            fail("keys must be str, int, float, bool or None, not {}", type_name(key));
        }
        sink_.add(fmt::format("\"{}\"", scalar(key)));
    }

    Machine& m_;
    const JsonStyle& style_;
    Sink sink_;
    uint32_t level_ = 0;
};

}  // namespace

std::string to_json(Machine& m, const Value& value, const JsonStyle& style) {
    JsonWriter writer(m, style);
    writer.write(value);
    return writer.take();
}

}  // namespace takt::jinja
