// Arithmetic: integers that say when they overflow, floats, texts and lists.
#include "tokenizer/jinja/arithmetic.h"

#include <charconv>
#include <cmath>

#include "tokenizer/jinja/format.h"
#include "tokenizer/jinja/print.h"

namespace takt::jinja {

namespace {

constexpr Int kMaxInt = static_cast<Int>((static_cast<unsigned __int128>(1) << 127) - 1);
constexpr Int kMinInt = -kMaxInt - 1;

[[noreturn]] void overflow() {
    fail("integer overflow: the result doesn't fit 128 bits");
}

Int add(Int a, Int b) {
    if (b > 0 ? a > kMaxInt - b : a < kMinInt - b) overflow();
    return a + b;
}

Int multiply(Int a, Int b) {
    if (a == 0 || b == 0) return 0;
    if ((a == -1 && b == kMinInt) || (b == -1 && a == kMinInt)) overflow();
    // The division rounds to zero, so it bounds the product of the other sign as well.
    const bool same_sign = (a > 0) == (b > 0);
    if (same_sign ? (a > 0 ? a > kMaxInt / b : a < kMaxInt / b) : (a > 0 ? b < kMinInt / a : a < kMinInt / b))
        overflow();
    return a * b;
}

Int floor_divide(Int a, Int b) {
    if (b == 0) fail("integer division or modulo by zero");
    if (b == -1) {
        if (a == kMinInt) overflow();
        return -a;
    }
    const Int quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Int modulo(Int a, Int b) {
    if (b == 0) fail("integer division or modulo by zero");
    if (b == -1) return 0;
    const Int rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double float_power(double a, double b) {
    if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
    if (a < 0 && std::isfinite(b) && b != std::floor(b))
        fail("a negative number to a fractional power isn't real");
    const double result = std::pow(a, b);
    if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("float overflow in a power");
    return result;
}

Value power(Machine& m, Int a, Int b) {
    if (b < 0) return float_power(static_cast<double>(a), static_cast<double>(b));
    if (a == 0 || a == 1) return b == 0 ? Int{1} : a;
    if (a == -1) return b % 2 == 0 ? Int{1} : Int{-1};
    if (b > 127) overflow();
    Int result = 1;
    for (Int i = 0; i < b; ++i) result = multiply(result, a);
    m.step();
    return result;
}

double float_modulo(double a, double b) {
    if (b == 0) fail("float modulo by zero");
    double rest = std::fmod(a, b);
    if (rest != 0) {
        if ((b < 0) != (rest < 0)) rest += b;
    } else {
        rest = std::copysign(0.0, b);
    }
    return rest;
}

double float_floor_divide(double a, double b) {
    if (b == 0) fail("float floor division by zero");
    const double rest = float_modulo(a, b);
    const double quotient = (a - rest) / b;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double floor = std::floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value integer_operation(Machine& m, Operator op, Int a, Int b) {
    switch (op) {
        case Operator::add:
            return add(a, b);
        case Operator::subtract:
            if (b == kMinInt) overflow();
            return add(a, -b);
        case Operator::multiply:
            return multiply(a, b);
        case Operator::divide:
            if (b == 0) fail("division by zero");
            return static_cast<double>(a) / static_cast<double>(b);
        case Operator::floor_divide:
            return floor_divide(a, b);
        case Operator::modulo:
            return modulo(a, b);
        case Operator::power:
            return power(m, a, b);
    }
    return {};
}

Value float_operation(Operator op, double a, double b) {
    switch (op) {
        case Operator::add:
            return a + b;
        case Operator::subtract:
            return a - b;
        case Operator::multiply:
            return a * b;
        case Operator::divide:
            if (b == 0) fail("float division by zero");
            return a / b;
        case Operator::floor_divide:
            return float_floor_divide(a, b);
        case Operator::modulo:
            return float_modulo(a, b);
        case Operator::power:
            return float_power(a, b);
    }
    return {};
}

Value repeat(Machine& m, const Value& value, Int times) {
    const size_t size = value.is_text() ? value.str().size() : value.list().items.size();
    if (times < 0 || size == 0) times = 0;
    const uint64_t limit = value.is_text() ? m.limits.max_output_bytes : m.limits.max_steps;
    if (times > 0 && times > static_cast<Int>(limit / size)) {
        fail("repeating {} {} {} times passes the limit of {}", size, value.is_text() ? "bytes" : "items",
             times, limit);
    }
    const auto n = static_cast<size_t>(times);
    if (value.is_text()) {
        m.take_bytes(size * n);
        std::string out;
        out.reserve(size * n);
        for (size_t i = 0; i < n; ++i) out += value.str();
        return m.text(std::move(out), value.text().safe);
    }
    m.step(size * n);
    Values items;
    items.reserve(size * n);
    for (size_t i = 0; i < n; ++i)
        items.insert(items.end(), value.list().items.begin(), value.list().items.end());
    return m.list(std::move(items), value.list().flavour);
}

bool repeatable(const Value& value) {
    return value.is_text() ||
           (value.is_list() && (value.list().flavour == Flavour::list || value.list().tuple()));
}

Value join_texts(Machine& m, const Value& a, const Value& b) {
    m.take_bytes(a.str().size() + b.str().size());
    const bool safe = a.text().safe || b.text().safe;
    std::string out(safe && !a.text().safe ? escape_html(a.str()) : std::string(a.str()));
    if (safe && !b.text().safe) {
        out += escape_html(b.str());
    } else {
        out += b.str();
    }
    return m.text(std::move(out), safe);
}

std::string_view symbol(Operator op) {
    constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
    return kSymbols[static_cast<size_t>(op)];
}

}  // namespace

Value apply(Machine& m, Operator op, const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return integer_operation(m, op, a.integer(), b.integer());
    if (a.is_number() && b.is_number()) return float_operation(op, a.number(), b.number());
    if (op == Operator::modulo && a.is_text()) return format_percent(m, a, b);
    if (a.is_undefined()) fail_undefined(a);
    if (b.is_undefined()) fail_undefined(b);
    if (op == Operator::add && a.is_text() && b.is_text()) return join_texts(m, a, b);
    if (op == Operator::add && a.is_list() && b.is_list() && repeatable(a) && repeatable(b) &&
        a.list().tuple() == b.list().tuple()) {
        m.step(a.list().items.size() + b.list().items.size());
        Values items = a.list().items;
        items.insert(items.end(), b.list().items.begin(), b.list().items.end());
        return m.list(std::move(items), a.list().tuple() ? Flavour::tuple : Flavour::list);
    }
    if (op == Operator::multiply && repeatable(a) && b.is_integral()) return repeat(m, a, b.integer());
    if (op == Operator::multiply && repeatable(b) && a.is_integral()) return repeat(m, b, a.integer());
    fail("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op), type_name(a), type_name(b));
}

Value negate(Machine& m, const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is_integral()) return integer_operation(m, Operator::subtract, 0, value.integer());
    if (value.is(Kind::floating)) return -value.floating();
    fail("bad operand type for unary -: '{}'", type_name(value));
}

Value positive(const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is_integral()) return value.integer();
    if (value.is(Kind::floating)) return value;
    fail("bad operand type for unary +: '{}'", type_name(value));
}

Value absolute(const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is(Kind::floating)) return std::fabs(value.floating());
    if (!value.is_integral()) fail("bad operand type for abs(): '{}'", type_name(value));
    if (value.integer() == kMinInt) overflow();
    return value.integer() < 0 ? -value.integer() : value.integer();
}

std::optional<Int> parse_integer(std::string_view digits, int base) {
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    if (digits.empty()) return std::nullopt;
    Int value = 0;
    for (const char c : digits) {
        const int lower = c | 0x20;
        const int digit = c >= '0' && c <= '9'           ? c - '0'
                          : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10
                                                         : 99;
        if (digit >= base || value < (kMinInt + digit) / base) return std::nullopt;
        value = value * base - digit;  // below zero, where one more number fits
    }
    if (!negative && value == kMinInt) return std::nullopt;
    return negative ? value : -value;
}

Int to_integer(double value) {
    if (std::isnan(value)) fail("cannot convert float NaN to integer");
    if (std::isinf(value)) fail("cannot convert float infinity to integer");
    if (std::fabs(value) >= 0x1p127) overflow();
    return static_cast<Int>(value);
}

Value round_number(const Value& value, int64_t n_digits) {
    if (value.is_integral()) {
        if (n_digits >= 0) return value.integer();
        if (n_digits < -38) return Int{0};
        Int unit = 1;
        for (int64_t i = n_digits; i < 0; ++i) unit *= 10;
        const Int rest = modulo(value.integer(), unit);
        const Int low = value.integer() - rest;
        const bool up = rest * 2 > unit || (rest * 2 == unit && floor_divide(low, unit) % 2 != 0);
        return up ? add(low, unit) : low;
    }
    const double number = value.floating();
    if (!std::isfinite(number) || n_digits > 323) return number;
    if (n_digits < 0) {
        if (n_digits < -308) return std::copysign(0.0, number);
        const double unit = std::pow(10.0, static_cast<double>(-n_digits));
        return std::nearbyint(number / unit) * unit;
    }
    char digits[700];  // 309 before the point, 323 after it
    const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed,
                                   static_cast<int>(n_digits));
    double rounded = 0;
    std::from_chars(digits, end.ptr, rounded);
    return rounded;
}

}  // namespace takt::jinja
