// str.format: replacement fields with their path, conversion and specification.
#include <limits>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/format.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

FormatSpec parse_spec(Machine& m, std::string_view text) {
    FormatSpec spec;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    size_t pos = 0;
    if (!text.empty()) {
        const size_t first = char_at(text, 0).size;
        if (first < text.size() && is_align(text[first])) {
            spec.fill = std::string(text.substr(0, first));
            spec.align = text[first];
            pos = first + 1;
        } else if (is_align(text[0])) {
            spec.align = text[0];
            pos = 1;
        }
    }
    const auto take = [&](std::string_view set) -> char {
        if (pos < text.size() && set.find(text[pos]) != std::string_view::npos) return text[pos++];
        return 0;
    };
    const auto number = [&] {
        size_t n = 0;
        while (pos < text.size() && text[pos] >= '0' && text[pos] <= '9') {
            n = n * 10 + static_cast<size_t>(text[pos++] - '0');
            if (n > m.limits.max_output_bytes)
                fail("a width passes the limit of {}", m.limits.max_output_bytes);
        }
        return n;
    };
    if (const char sign = take("+- ")) spec.sign = sign;
    spec.alternate = take("#") != 0;
    if (take("0") && !spec.align) {
        spec.align = '=';
        spec.fill.assign(1, '0');
    }
    spec.width = number();
    spec.grouping = take(",_");
    if (take(".")) spec.precision = static_cast<int>(std::min<size_t>(number(), 1u << 30));
    spec.type = take("bcdeEfFgGnosxX%");
    if (pos != text.size()) fail("Invalid format specifier '{}'", text);
    return spec;
}

std::string format_value(Machine& m, const Value& value, std::string_view spec_text) {
    if (value.is_undefined() && !spec_text.empty()) fail_undefined(value);
    if (spec_text.empty()) return to_str(m, value);
    const FormatSpec spec = parse_spec(m, spec_text);
    if (value.is_number() && spec.type != 's') return format_number(m, spec, value);
    if (!value.is_text() || (spec.type != 0 && spec.type != 's')) {
        fail("format specifier '{}' doesn't fit a value of type '{}'", spec_text, type_name(value));
    }
    std::string_view text = value.str();
    if (spec.precision) text = text.substr(0, byte_of_char(text, static_cast<size_t>(*spec.precision)));
    return pad(m, spec, text, '<');
}

bool parse_index(std::string_view text, size_t& index) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string_view::npos)
        return false;
    index = 0;
    for (const char c : text) index = index * 10 + static_cast<size_t>(c - '0');
    return true;
}

class BraceFormatter {
public:
    BraceFormatter(Machine& m, const Args& args) : m_(m), args_(args) {}

    std::string run(std::string_view format, int level) {
        if (level > 1) fail("Max string recursion exceeded");
        Sink sink(m_);
        for (size_t pos = 0; pos < format.size();) {
            const size_t brace = std::min(format.find_first_of("{}", pos), format.size());
            sink.add(format.substr(pos, brace - pos));
            pos = brace;
            if (pos == format.size()) break;
            if (pos + 1 < format.size() && format[pos + 1] == format[pos]) {
                sink.add(format.substr(pos, 1));
                pos += 2;
                continue;
            }
            if (format[pos] == '}') fail("Single '}}' encountered in format string");
            const size_t end = field_end(format, pos);
            sink.add(field(format.substr(pos + 1, end - pos - 1), level));
            pos = end + 1;
        }
        return sink.take();
    }

private:
    static size_t field_end(std::string_view format, size_t pos) {
        int open = 0;
        for (; pos < format.size(); ++pos) {
            if (format[pos] == '{') ++open;
            if (format[pos] == '}' && --open == 0) return pos;
        }
        fail("expected '}}' before end of string");
    }

    std::string field(std::string_view text, int level) {
        const size_t name_end = std::min(text.find_first_of("!:"), text.size());
        const Value value = resolve(text.substr(0, name_end));
        text.remove_prefix(name_end);
        char conversion = 0;
        if (!text.empty() && text[0] == '!') {
            if (text.size() < 2 || (text[1] != 'r' && text[1] != 's'))
                fail("unknown conversion in format string");
            conversion = text[1];
            text.remove_prefix(2);
        }
        if (!text.empty() && text[0] != ':') fail("expected ':' after conversion specifier");
        const std::string spec = text.empty() ? std::string() : run(text.substr(1), level + 1);
        if (conversion == 0) return format_value(m_, value, spec);
        return format_value(m_, m_.text(conversion == 'r' ? to_repr(m_, value) : to_str(m_, value)), spec);
    }

    Value resolve(std::string_view path) {
        const size_t first_end = std::min(path.find_first_of(".["), path.size());
        Value value = argument(path.substr(0, first_end));
        for (path.remove_prefix(first_end); !path.empty();) {
            const bool item = path[0] == '[';
            path.remove_prefix(1);
            const size_t end = std::min(item ? path.find(']') : path.find_first_of(".["), path.size());
            if (item && end == path.size()) fail("Missing ']' in format string");
            const std::string_view key = path.substr(0, end);
            size_t index = 0;
            if (!item) {
                value = get_attribute(m_, value, key);
            } else if (parse_index(key, index)) {
                value = get_item(m_, value, Value(index));
            } else {
                value = get_item(m_, value, m_.text(std::string(key)));
            }
            path.remove_prefix(item ? end + 1 : end);
        }
        return value;
    }

    Value argument(std::string_view name) {
        size_t index = 0;
        if (name.empty() || parse_index(name, index)) {
            if (name.empty() ? manual_ : n_automatic_ > 0) {
                fail("cannot switch between manual field specification and automatic field numbering");
            }
            if (name.empty()) {
                index = n_automatic_++;
            } else {
                manual_ = true;
            }
            if (index < args_.positional.size()) return args_.positional[index];
            fail("Replacement index {} out of range for positional args tuple", index);
        }
        for (const auto& [key, value] : args_.named) {
            if (key == name) return value;
        }
        fail("format has no argument '{}'", name);
    }

    Machine& m_;
    const Args& args_;
    size_t n_automatic_ = 0;
    bool manual_ = false;
};

}  // namespace

Value format_braces(Machine& m, const Value& format, const Args& args) {
    return m.text(BraceFormatter(m, args).run(format.str(), 0), format.text().safe);
}

}  // namespace takt::jinja
