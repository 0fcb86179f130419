// Numbers with width, sign and precision, and the % operator of texts.
#include "tokenizer/jinja/format.h"

#include <charconv>
#include <cmath>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

constexpr int kMaxPrecision = 1000;  // digits after the point; doubles have at most 1074 that aren't zero

std::string digits_of(Int magnitude, char type, bool alternate) {
    switch (type) {
        case 'x':
            return fmt::format("{}{:x}", alternate ? "0x" : "", magnitude);
        case 'X':
            return fmt::format("{}{:X}", alternate ? "0X" : "", magnitude);
        case 'o':
            return fmt::format("{}{:o}", alternate ? "0o" : "", magnitude);
        case 'b':
            return fmt::format("{}{:b}", alternate ? "0b" : "", magnitude);
        default:
            return int_repr(magnitude);
    }
}

std::string digits_of(double magnitude, char type, std::optional<int> precision, bool alternate) {
    if (std::isinf(magnitude)) return "inf";
    if (std::isnan(magnitude)) return "nan";
    if (type == 0 && !precision) return float_repr(magnitude);
    const char kind = static_cast<char>(type == 0 || type == 'n' ? 'g' : type | 0x20);
    const auto style = kind == 'f' || type == '%' ? std::chars_format::fixed
                       : kind == 'e'              ? std::chars_format::scientific
                                                  : std::chars_format::general;
    int n = precision.value_or(6);
    if (style == std::chars_format::general && n == 0) n = 1;
    std::string buffer(static_cast<size_t>(n) + 400, '\0');
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, style, n);
    buffer.resize(static_cast<size_t>(end.ptr - buffer.data()));
    const bool plain = buffer.find_first_of(".e") == std::string::npos;
    if (type == 0 && plain) buffer += ".0";
    if (alternate && plain && type != 0) buffer += '.';
    return buffer;
}

void group_thousands(std::string& digits, char separator) {
    size_t end = digits.find_first_not_of("0123456789");
    if (end == std::string::npos) end = digits.size();
    for (size_t i = end; i > 3;) {
        i -= 3;
        digits.insert(i, 1, separator);
    }
}

bool for_float(char type) {
    return type != 0 && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}
bool for_integer(char type) {
    return type != 0 && std::string_view("bcdoxX").find(type) != std::string_view::npos;
}

}  // namespace

std::string pad(Machine& m, const FormatSpec& spec, std::string_view text, char default_align) {
    const size_t n_chars = count_chars(text);
    if (n_chars >= spec.width) return std::string(text);
    const size_t n = spec.width - n_chars;
    m.take_bytes(text.size() + n * spec.fill.size());
    const char align = spec.align ? spec.align : default_align;
    const size_t n_left = align == '<' ? 0 : align == '^' ? n / 2 : n;
    std::string out;
    for (size_t i = 0; i < n_left; ++i) out += spec.fill;
    out += text;
    for (size_t i = n_left; i < n; ++i) out += spec.fill;
    return out;
}

std::string format_number(Machine& m, const FormatSpec& spec, const Value& value) {
    if (spec.precision.value_or(0) > kMaxPrecision) {
        fail("a precision of {} passes the limit of {}", *spec.precision, kMaxPrecision);
    }
    const bool as_float = for_float(spec.type) || (value.is(Kind::floating) && !for_integer(spec.type));
    if (value.is(Kind::floating) && !as_float)
        fail("Unknown format code '{}' for object of type 'float'", spec.type);
    std::string digits;
    bool negative = false;
    if (as_float) {
        double number = value.number();
        negative = std::signbit(number) && !std::isnan(number);
        if (spec.type == '%') number *= 100;
        digits = digits_of(std::fabs(number), spec.type, spec.precision, spec.alternate);
        if (spec.type == '%') digits += '%';
        if (spec.type == 'E' || spec.type == 'G' || spec.type == 'F') digits = upper(digits);
    } else if (spec.type == 'c') {
        if (value.integer() < 0 || value.integer() > 0x10FFFF ||
            (value.integer() >= 0xD800 && value.integer() < 0xE000)) {
            fail("%c wants a character, not {}", value.integer());
        }
        append_utf8(digits, static_cast<uint32_t>(value.integer()));
        return pad(m, spec, digits, '<');
    } else {
        negative = value.integer() < 0;
        digits = digits_of(absolute(value).integer(), spec.type, spec.alternate);
    }
    if (spec.grouping) group_thousands(digits, spec.grouping);
    const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (spec.align != '=') return pad(m, spec, sign + digits, '>');
    FormatSpec rest = spec;
    rest.width = spec.width > sign.size() ? spec.width - sign.size() : 0;
    return sign + pad(m, rest, digits, '>');
}

namespace {

// One pass over a % format: plain text, and directives that take the next argument or a named one.
class PercentFormatter {
public:
    PercentFormatter(Machine& m, std::string_view format, const Value& arguments)
        : m_(m), format_(format), arguments_(arguments), sink_(m) {}

    std::string run() {
        while (pos_ < format_.size()) {
            const size_t percent = std::min(format_.find('%', pos_), format_.size());
            sink_.add(format_.substr(pos_, percent - pos_));
            pos_ = percent + 1;
            if (percent < format_.size()) directive();
        }
        const bool left_over = is_tuple() ? n_used_ < arguments_.list().items.size()
                                          : n_used_ == 0 && !arguments_.is_dict() && !arguments_.is_list();
        if (left_over) fail("not all arguments converted during string formatting");
        return sink_.take();
    }

private:
    bool is_tuple() const { return arguments_.is_list() && arguments_.list().tuple(); }

    char peek() const {
        if (pos_ >= format_.size()) fail("incomplete format");
        return format_[pos_];
    }

    const Value& next_argument() {
        if (named_) return *std::exchange(named_, nullptr);
        const size_t i = n_used_++;
        if (is_tuple() ? i < arguments_.list().items.size() : i == 0) {
            return is_tuple() ? arguments_.list().items[i] : arguments_;
        }
        fail("not enough arguments for format string");
    }

    size_t number() {
        size_t n = 0;
        while (peek() >= '0' && peek() <= '9') {
            n = n * 10 + static_cast<size_t>(format_[pos_++] - '0');
            if (n > m_.limits.max_output_bytes)
                fail("a width passes the limit of {}", m_.limits.max_output_bytes);
        }
        return n;
    }

    size_t number_or_star(FormatSpec& spec) {
        if (peek() != '*') return number();
        ++pos_;
        const Value& value = next_argument();
        if (!value.is_integral()) fail("* wants int");
        if (value.integer() < 0) spec.align = '<';
        const Int magnitude = absolute(value).integer();
        if (magnitude > static_cast<Int>(m_.limits.max_output_bytes))
            fail("a width of {} is too big", magnitude);
        return static_cast<size_t>(magnitude);
    }

    void name() {
        if (peek() != '(') return;
        const size_t end = format_.find(')', pos_);
        if (end == std::string_view::npos) fail("incomplete format key");
        if (!arguments_.is_dict()) fail("format requires a mapping");
        const std::string_view key = format_.substr(pos_ + 1, end - pos_ - 1);
        named_ = arguments_.dict().find(key);
        if (!named_) fail("format has no argument '{}'", key);
        pos_ = end + 1;
    }

    void directive() {
        FormatSpec spec;
        name();
        for (bool flag = true; flag; pos_ += flag) {
            const char c = peek();
            if (c == '-') {
                spec.align = '<';
            } else if (c == '+' || (c == ' ' && spec.sign != '+')) {
                spec.sign = c;
            } else if (c == '#') {
                spec.alternate = true;
            } else if (c == '0') {
                if (!spec.align) spec.align = '=';
            } else {
                flag = c == ' ';
            }
        }
        spec.width = number_or_star(spec);
        if (peek() == '.') {
            ++pos_;
            spec.precision = static_cast<int>(std::min<size_t>(number_or_star(spec), 1u << 30));
        }
        while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++pos_;
        convert(spec, format_[pos_++]);
    }

    void convert(FormatSpec& spec, char type) {
        if (type == '%') return sink_.add("%");
        if (std::string_view("diuoxXeEfFgGcrsa").find(type) == std::string_view::npos) {
            fail("unsupported format character '{}'", type);
        }
        const Value& value = next_argument();
        if (type == 's' || type == 'r' || type == 'a' || (type == 'c' && value.is_text())) {
            std::string text = type == 'r' || type == 'a' ? to_repr(m_, value) : to_str(m_, value);
            if (spec.precision) text.resize(byte_of_char(text, static_cast<size_t>(*spec.precision)));
            if (spec.align == '=') spec.align = '>';
            return sink_.add(pad(m_, spec, text, '>'));
        }
        if (value.is_undefined()) fail_undefined(value);
        if (!value.is_number()) fail("%{} format: a number is required, not {}", type, type_name(value));
        if (spec.align == '=') spec.fill = "0";
        spec.type = type == 'i' || type == 'u' ? 'd' : type;
        const bool decimal = spec.type == 'd';
        if (decimal && value.is(Kind::floating)) {
            return sink_.add(format_number(m_, spec, Value(to_integer(value.floating()))));
        }
        if (value.is(Kind::floating) && std::string_view("oxXc").find(type) != std::string_view::npos) {
            fail("%{} format: an integer is required, not float", type);
        }
        if (!spec.precision && std::string_view("eEfFgG").find(type) != std::string_view::npos)
            spec.precision = 6;
        sink_.add(format_number(m_, spec, value));
    }

    Machine& m_;
    std::string_view format_;
    const Value& arguments_;
    Sink sink_;
    size_t pos_ = 0;
    size_t n_used_ = 0;
    const Value* named_ = nullptr;
};

}  // namespace

Value format_percent(Machine& m, const Value& format, const Value& arguments) {
    return m.text(PercentFormatter(m, format.str(), arguments).run(), format.text().safe);
}

}  // namespace takt::jinja
