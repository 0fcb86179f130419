// str and repr of every value, to the byte what Python prints.
#include "tokenizer/jinja/print.h"

#include <charconv>
#include <cmath>

#include "tokenizer/jinja/loop.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

void Sink::add(std::string_view piece) {
    const size_t size = out_.size() + piece.size();
    if (size > m_.limits.max_output_bytes) {
        fail("the output of {} bytes passes the limit of {} bytes", size, m_.limits.max_output_bytes);
    }
    m_.step(1 + piece.size() / 256);
    out_ += piece;
}

std::string int_repr(Int value) {
    return fmt::format("{}", value);
}

std::string float_repr(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[32];
    const auto shortest = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
    std::string_view text(buffer, static_cast<size_t>(shortest.ptr - buffer));
    std::string out;
    if (text.front() == '-') {
        out = "-";
        text.remove_prefix(1);
    }
    const size_t e = text.find('e');
    std::string digits(text.substr(0, e));
    if (digits.size() > 1) digits.erase(1, 1);  // the point
    int exponent = 0;
    const char* from = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(from, text.data() + text.size(), exponent);
    const int n = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) {
        out += digits.substr(0, 1);
        if (n > 1) out += "." + digits.substr(1);
        return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
    }
    if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    if (exponent >= n - 1)
        return out + digits + std::string(static_cast<size_t>(exponent - n + 1), '0') + ".0";
    const auto whole = static_cast<size_t>(exponent + 1);
    return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string escape_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '"':
                out += "&#34;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

namespace {

void repr(Sink& sink, const Value& value);

std::string text_repr(std::string_view text) {
    const bool twice = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = twice ? '"' : '\'';
    std::string out(1, quote);
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step step = char_at(text, pos);
        const uint32_t c = step.code_point;
        if (c == static_cast<uint32_t>(quote) || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c)) {
            out.append(text.substr(pos, step.size));
        } else {
            out += c < 0x100     ? fmt::format("\\x{:02x}", c)
                   : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                                 : fmt::format("\\U{:08x}", c);
        }
        pos += step.size;
    }
    return out + quote;
}

void repr_items(Sink& sink, const Values& items) {
    for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) sink.add(", ");
        repr(sink, items[i]);
    }
}

void repr_list(Sink& sink, const List& list) {
    switch (list.flavour) {
        case Flavour::generator:
            return sink.add("<generator object>");
        case Flavour::range:
            sink.add(fmt::format("range({}, {}", list.start, list.stop));
            return sink.add(list.step == 1 ? ")" : fmt::format(", {})", list.step));
        case Flavour::tuple:
        case Flavour::group:
            sink.add("(");
            repr_items(sink, list.items);
            return sink.add(list.items.size() == 1 ? ",)" : ")");
        case Flavour::keys:
            sink.add("dict_keys([");
            break;
        case Flavour::values:
            sink.add("dict_values([");
            break;
        case Flavour::items:
            sink.add("dict_items([");
            break;
        case Flavour::list:
            sink.add("[");
            break;
    }
    repr_items(sink, list.items);
    sink.add(list.flavour == Flavour::list ? "]" : "])");
}

void repr_dict(Sink& sink, const Dict& dict) {
    sink.add("{");
    bool first = true;
    for (const auto& [key, value] : dict.items) {
        if (!std::exchange(first, false)) sink.add(", ");
        repr(sink, key);
        sink.add(": ");
        repr(sink, value);
    }
    sink.add("}");
}

void repr_object(Sink& sink, Object& object) {
    switch (object.type) {
        case Object::Type::name_space:
            sink.add("<Namespace ");
            repr_dict(sink, static_cast<Namespace&>(object).members);
            return sink.add(">");
        case Object::Type::loop: {
            const auto& loop = static_cast<Loop&>(object);
            return sink.add(fmt::format("<LoopContext {}/{}>", loop.index + 1, loop.items.size()));
        }
        case Object::Type::macro:
            return sink.add("<Macro>");
        default:
            return sink.add("<function>");
    }
}

void repr(Sink& sink, const Value& value) {
    const Nest nest(sink.machine().depth);
    sink.machine().step();
    switch (value.kind()) {
        case Kind::undefined:
            return sink.add("Undefined");
        case Kind::none:
            return sink.add("None");
        case Kind::boolean:
            return sink.add(value.boolean() ? "True" : "False");
        case Kind::integer:
            return sink.add(int_repr(value.integer()));
        case Kind::floating:
            return sink.add(float_repr(value.floating()));
        case Kind::text:
            return sink.add(value.text().safe ? "Markup(" + text_repr(value.str()) + ")"
                                              : text_repr(value.str()));
        case Kind::list:
            return repr_list(sink, value.list());
        case Kind::dict:
            return repr_dict(sink, value.dict());
        case Kind::object:
            return repr_object(sink, value.object());
    }
}

}  // namespace

void print(Sink& sink, const Value& value) {
    if (value.is_text()) {
        sink.add(value.str());
    } else if (!value.is_undefined()) {
        repr(sink, value);
    }
}

std::string to_str(Machine& m, const Value& value) {
    Sink sink(m);
    print(sink, value);
    return sink.take();
}

std::string to_repr(Machine& m, const Value& value) {
    Sink sink(m);
    repr(sink, value);
    return sink.take();
}

Value to_text(Machine& m, const Value& value) {
    return value.is_text() ? value : m.text(to_str(m, value));
}

}  // namespace takt::jinja
