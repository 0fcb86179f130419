// + - * / // % ** and the unary signs, with Python's rules for every pair of types.
#pragma once

#include <optional>

#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

enum class Operator : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };

Value apply(Machine& m, Operator op, const Value& a, const Value& b);
Value negate(Machine& m, const Value& value);
Value positive(const Value& value);
// abs, and the rest of a number's filters.
Value absolute(const Value& value);
// Digits of a base up to 36, with an optional sign; nothing else. Empty if that isn't so, or 128 bits don't
// hold it.
std::optional<Int> parse_integer(std::string_view digits, int base);
// A whole float as an integer; throws when 128 bits don't hold it.
Int to_integer(double value);
// Python's round: half to even, on the exact value of the float.
Value round_number(const Value& value, int64_t n_digits);

}  // namespace takt::jinja
