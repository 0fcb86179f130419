// The filters that make texts.
#include <algorithm>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/format.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

// The same work as a method of str, on any value.
Value as_method(Machine& m, std::string_view method, const Value& input, const Args& args) {
    return find_text_method(method)(m, to_text(m, input), args);
}

Value upper_filter(Machine& m, const Value& input, const Args& args) {
    return as_method(m, "upper", input, args);
}
Value lower_filter(Machine& m, const Value& input, const Args& args) {
    return as_method(m, "lower", input, args);
}
Value capitalize_filter(Machine& m, const Value& input, const Args& args) {
    return as_method(m, "capitalize", input, args);
}

Value trim_filter(Machine& m, const Value& input, const Args& args) {
    return as_method(m, "strip", input, args);
}

Value center_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'center'", {"width"});
    return as_method(m, "center", input, Args{{Value(bound.integer(0, 80))}, {}});
}

Value replace_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'replace'", {"old", "new", "count"}, 2);
    Args texts{{to_text(m, bound.at(0)), to_text(m, bound.at(1))}, {}};
    if (bound.given(2) && !bound.at(2).is_none()) texts.positional.push_back(bound.at(2));
    return as_method(m, "replace", input, texts);
}

// Words begin after spaces, hyphens and opening brackets; unlike str.title an apostrophe doesn't begin one.
Value title_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'title'", {});
    const std::string text = to_str(m, input);
    std::string out;
    for (size_t pos = 0; pos < text.size();) {
        const auto separates = [&](size_t at) {
            const uint32_t c = char_at(text, at).code_point;
            return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
        };
        size_t end = pos;
        const bool separator = separates(pos);
        while (end < text.size() && separates(end) == separator) end += char_at(text, end).size;
        const std::string_view word = std::string_view(text).substr(pos, end - pos);
        if (separator) {
            out += word;
        } else {
            const size_t first = char_at(word, 0).size;
            out += upper(word.substr(0, first));
            out += lower(word.substr(first));
        }
        pos = end;
    }
    return m.text(std::move(out));
}

Value string_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'string'", {});
    return to_text(m, input);
}

Value escape_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'escape'", {});
    if (input.is_text() && input.text().safe) return input;
    return m.text(escape_html(to_str(m, input)), true);
}

Value force_escape_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'forceescape'", {});
    return m.text(escape_html(to_str(m, input)), true);
}

Value safe_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'safe'", {});
    return m.text(to_str(m, input), true);
}

Value format_filter(Machine& m, const Value& input, const Args& args) {
    if (!args.named.empty() && !args.positional.empty())
        fail("can't handle positional and keyword arguments at once");
    const Value format = to_text(m, input);
    if (args.named.empty()) return format_percent(m, format, m.list(args.positional, Flavour::tuple));
    auto named = std::make_shared<Dict>();
    for (const auto& [name, value] : args.named) named->set(m.text(name), value);
    return format_percent(m, format, m.dict(std::move(named)));
}

Value indent_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'indent'", {"width", "first", "blank"});
    const bool by_text = bound.given(0) && bound.at(0).is_text();
    const Value width =
        by_text ? bound.at(0) : apply(m, Operator::multiply, m.text(" "), Value(bound.integer(0, 4)));
    // Undefined can't be added to, unlike everything that prints.
    if (input.is_undefined()) fail_undefined(input);
    const std::string text = to_str(m, input) + "\n";
    const bool blank = bound.truth(2, false);
    Sink out(m);
    bool first = true;
    for (const std::string_view line : split_lines(text, false)) {
        if (!first) out.add("\n");
        if (first ? bound.truth(1, false) : blank || !line.empty()) out.add(width.str());
        out.add(line);
        first = false;
    }
    return m.text(out.take());
}

Value word_count_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'wordcount'", {});
    const std::string text = to_str(m, input);
    size_t n = 0;
    bool inside = false;
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step c = char_at(text, pos);
        const bool word = is_word(c.code_point);
        n += word && !inside;
        inside = word;
        pos += c.size;
    }
    return n;
}

Value truncate_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'truncate'", {"length", "killwords", "end", "leeway"});
    const Int length = bound.integer(0, 255);
    const std::string_view end = bound.text(2, "...");
    const Int leeway = bound.given(3) && !bound.at(3).is_none() ? bound.integer(3, 5) : 5;
    const auto n_end = static_cast<Int>(count_chars(end));
    if (length < n_end) fail("expected length >= {}, got {}", n_end, length);
    if (leeway < 0) fail("expected leeway >= 0, got {}", leeway);
    const Value text = to_text(m, input);
    if (static_cast<Int>(text.text().n_chars) <= length + leeway) return text;
    std::string_view kept =
        text.str().substr(0, byte_of_char(text.str(), static_cast<size_t>(length - n_end)));
    if (!bound.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
    return m.text(std::string(kept) + std::string(end));
}

std::string quoted(std::string_view text, bool query) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query);
        if (plain) {
            out += c;
        } else if (c == ' ' && query) {
            out += '+';
        } else {
            out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
        }
    }
    return out;
}

Value urlencode_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'urlencode'", {});
    if (!input.is_dict() && !input.is_list()) return m.text(quoted(to_str(m, input), false));
    Sink out(m);
    const auto add = [&](const Value& key, const Value& value) {
        if (out.size() > 0) out.add("&");
        out.add(quoted(to_str(m, key), true));
        out.add("=");
        out.add(quoted(to_str(m, value), true));
    };
    if (input.is_dict()) {
        for (const auto& [key, value] : input.dict().items) add(key, value);
        return m.text(out.take());
    }
    for (const Value& pair : iterate(m, input)) {
        const Values parts = iterate(m, pair);
        if (parts.size() != 2) fail("urlencode wants pairs, one item has {} parts", parts.size());
        add(parts[0], parts[1]);
    }
    return m.text(out.take());
}

Value json_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'tojson'", {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.ensure_ascii = bound.truth(0, false);
    style.sort_keys = bound.truth(3, false);
    if (bound.given(1) && !bound.at(1).is_none()) {
        const bool by_text = bound.at(1).is_text();
        const Int width = by_text ? 0 : std::max<Int>(bound.integer(1, 0), 0);
        if (width > static_cast<Int>(m.limits.max_output_bytes)) fail("an indent of {} is too wide", width);
        style.indent =
            by_text ? std::string(bound.at(1).str()) : std::string(static_cast<size_t>(width), ' ');
        style.item_separator = ",";
    }
    if (bound.given(2) && !bound.at(2).is_none()) {
        const Values parts = iterate(m, bound.at(2));
        if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text())
            fail("separators must be two strings");
        style.item_separator = parts[0].str();
        style.key_separator = parts[1].str();
    }
    return m.text(to_json(m, input, style));
}

constexpr FilterEntry kFilters[] = {
    {"upper", upper_filter},       {"lower", lower_filter},         {"capitalize", capitalize_filter},
    {"title", title_filter},       {"trim", trim_filter},           {"center", center_filter},
    {"replace", replace_filter},   {"string", string_filter},       {"escape", escape_filter},
    {"e", escape_filter},          {"safe", safe_filter},           {"forceescape", force_escape_filter},
    {"format", format_filter},     {"indent", indent_filter},       {"wordcount", word_count_filter},
    {"truncate", truncate_filter}, {"urlencode", urlencode_filter}, {"tojson", json_filter},
};

}  // namespace

std::span<const FilterEntry> text_filters() {
    return kFilters;
}

}  // namespace takt::jinja
