// Finding a filter, and the filters of numbers and of single values.
#include "tokenizer/jinja/filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

FilterFunction find_filter(std::string_view name) {
    for (const auto table : {text_filters(), sequence_filters(), selection_filters(), number_filters()}) {
        for (const FilterEntry& entry : table) {
            if (entry.name == name) return entry.function;
        }
    }
    return nullptr;
}

namespace {

// Underscores may stand between digits alone.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto alnum = [&](size_t k) {
            return k < text.size() && is_word(static_cast<uint8_t>(text[k])) && text[k] != '_';
        };
        if (text[i] != '_') {
            out += text[i];
        } else if (i == 0 || !alnum(i - 1) || !alnum(i + 1)) {
            return std::nullopt;
        }
    }
    return out;
}

std::optional<Int> text_to_integer(std::string_view text, int base) {
    std::optional<std::string> digits = without_underscores(strip(text));
    if (!digits) return std::nullopt;
    const size_t sign = digits->starts_with('-') || digits->starts_with('+') ? 1 : 0;
    if (digits->size() > sign + 2 && (*digits)[sign] == '0') {
        const char letter = static_cast<char>((*digits)[sign + 1] | 0x20);
        const int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
        if (prefix && (base == prefix || base == 0)) {
            digits->erase(sign, 2);
            base = prefix;
        }
    }
    if (base == 0) base = 10;
    return parse_integer(*digits, base);
}

std::optional<double> text_to_float(std::string_view text) {
    const std::optional<std::string> cleaned = without_underscores(strip(text));
    if (!cleaned) return std::nullopt;
    std::string_view digits = *cleaned;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (digits.empty() || digits.starts_with('+') ||
        (cleaned->size() > digits.size() && digits.starts_with('-'))) {
        return std::nullopt;
    }
    double value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end.ptr != digits.data() + digits.size() || digits.find('(') != std::string_view::npos)
        return std::nullopt;
    if (end.ec == std::errc::result_out_of_range) {
        const bool small =
            digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos;
        value = small ? 0.0 : HUGE_VAL;
        return digits.starts_with('-') ? -value : value;
    }
    if (end.ec != std::errc()) return std::nullopt;
    return value;
}

Value to_int(Machine&, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'int'", {"default", "base"});
    const Value otherwise = bound.given(0) ? bound.at(0) : Value(0);
    if (input.is_undefined()) fail_undefined(input);
    if (input.is_integral()) return input.integer();
    if (input.is(Kind::floating))
        return std::isfinite(input.floating()) ? Value(to_integer(input.floating())) : otherwise;
    if (!input.is_text()) return otherwise;
    const Int base = bound.integer(1, 10);
    if (base != 0 && (base < 2 || base > 36)) return otherwise;
    if (const auto value = text_to_integer(input.str(), static_cast<int>(base))) return *value;
    const auto value = text_to_float(input.str());
    return value && std::isfinite(*value) ? Value(to_integer(*value)) : otherwise;
}

Value to_float(Machine&, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'float'", {"default"});
    if (input.is_undefined()) fail_undefined(input);
    if (input.is_number()) return input.number();
    if (input.is_text()) {
        if (const auto value = text_to_float(input.str())) return *value;
    }
    return bound.given(0) ? bound.at(0) : Value(0.0);
}

Value absolute_value(Machine&, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'abs'", {});
    return absolute(input);
}

Value rounded(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'round'", {"precision", "method"});
    if (input.is_undefined()) fail_undefined(input);
    if (!input.is_number()) fail("type {} can't be rounded", type_name(input));
    const Int precision = std::clamp<Int>(bound.integer(0, 0), -400, 400);
    const std::string_view method = bound.text(1, "common");
    if (method == "common") return round_number(input, static_cast<int64_t>(precision));
    if (method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
    const Value unit = apply(m, Operator::power, Value(10), Value(precision));
    const double scaled = apply(m, Operator::multiply, input, unit).number();
    const Int whole = to_integer(method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
    return apply(m, Operator::divide, Value(whole), unit);
}

Value otherwise(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'default'", {"default_value", "boolean"});
    if (!input.is_undefined() && !(bound.truth(1, false) && !truthy(input))) return input;
    return bound.given(0) ? bound.at(0) : m.text("");
}

Value attribute(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'attr'", {"name"}, 1);
    const std::string_view name = bound.text(0, "");
    // Attributes alone: a dict's keys are no attributes.
    if (input.is_dict() && !find_method(input, name)) {
        return m.undefined(fmt::format("'dict object' has no attribute '{}': it is undefined", name));
    }
    return get_attribute(m, input, name);
}

constexpr FilterEntry kFilters[] = {
    {"int", to_int},        {"float", to_float}, {"abs", absolute_value}, {"round", rounded},
    {"default", otherwise}, {"d", otherwise},    {"attr", attribute},
};

}  // namespace

std::span<const FilterEntry> number_filters() {
    return kFilters;
}

}  // namespace takt::jinja
