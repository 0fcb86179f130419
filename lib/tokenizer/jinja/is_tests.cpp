// What can stand behind `is`.
#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

void none_wanted(const Args& args) {
    const Bound bound(args, "the test", {});
}
const Value& one(const Args& args) {
    const Bound bound(args, "the test", {"other"}, 1);
    return bound.at(0);
}

bool is_defined(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), !v.is_undefined();
}
bool is_undefined(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_undefined();
}
bool is_none(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_none();
}
bool is_boolean(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is(Kind::boolean);
}
bool is_true(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is(Kind::boolean) && v.boolean();
}
bool is_false(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is(Kind::boolean) && !v.boolean();
}
bool is_integer(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is(Kind::integer);
}
bool is_float(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is(Kind::floating);
}
bool is_number(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_number();
}
bool is_string(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_text();
}
bool is_mapping(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_dict();
}
bool is_escaped(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_text() && v.text().safe;
}

bool is_sequence(Machine&, const Value& v, const Args& a) {
    none_wanted(a);
    return v.is_undefined() || v.is_text() || v.is_dict() || (v.is_list() && v.list().indexed());
}

bool is_iterable(Machine&, const Value& v, const Args& a) {
    none_wanted(a);
    const bool loop = v.is(Kind::object) && v.object().type == Object::Type::loop;
    return v.is_undefined() || v.is_text() || v.is_dict() || v.is_list() || loop;
}

bool is_callable(Machine&, const Value& v, const Args& a) {
    none_wanted(a);
    // An undefined value has a __call__, which fails.
    return v.is_undefined() || (v.is(Kind::object) && v.object().type != Object::Type::name_space);
}

bool is_upper_case(Machine& m, const Value& v, const Args& a) {
    return none_wanted(a), all_upper(to_str(m, v));
}
bool is_lower_case(Machine& m, const Value& v, const Args& a) {
    return none_wanted(a), all_lower(to_str(m, v));
}

bool divides(Machine& m, const Value& v, const Value& divisor) {
    return equals(m, apply(m, Operator::modulo, v, divisor), Value(0));
}
bool is_odd(Machine& m, const Value& v, const Args& a) {
    none_wanted(a);
    return equals(m, apply(m, Operator::modulo, v, Value(2)), Value(1));
}
bool is_even(Machine& m, const Value& v, const Args& a) {
    return none_wanted(a), divides(m, v, Value(2));
}
bool is_divisible(Machine& m, const Value& v, const Args& a) {
    return divides(m, v, one(a));
}

bool is_equal(Machine& m, const Value& v, const Args& a) {
    return equals(m, v, one(a));
}
bool is_unequal(Machine& m, const Value& v, const Args& a) {
    return !equals(m, v, one(a));
}
bool is_less(Machine& m, const Value& v, const Args& a) {
    return less(m, v, one(a));
}
bool is_greater(Machine& m, const Value& v, const Args& a) {
    return less(m, one(a), v);
}
bool is_less_equal(Machine& m, const Value& v, const Args& a) {
    return less(m, v, one(a)) || equals(m, v, one(a));
}
bool is_greater_equal(Machine& m, const Value& v, const Args& a) {
    return less(m, one(a), v) || equals(m, v, one(a));
}
bool is_in(Machine& m, const Value& v, const Args& a) {
    return contains(m, one(a), v);
}
bool is_same(Machine&, const Value& v, const Args& a) {
    return v.same(one(a));
}

bool is_filter(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_text() && find_filter(v.str());
}
bool is_test(Machine&, const Value& v, const Args& a) {
    return none_wanted(a), v.is_text() && find_test(v.str());
}

struct Entry {
    std::string_view name;
    TestFunction function;
};
constexpr Entry kTests[] = {
    {"defined", is_defined},   {"undefined", is_undefined},
    {"none", is_none},         {"boolean", is_boolean},
    {"true", is_true},         {"false", is_false},
    {"integer", is_integer},   {"float", is_float},
    {"number", is_number},     {"string", is_string},
    {"mapping", is_mapping},   {"sequence", is_sequence},
    {"iterable", is_iterable}, {"callable", is_callable},
    {"escaped", is_escaped},   {"upper", is_upper_case},
    {"lower", is_lower_case},  {"odd", is_odd},
    {"even", is_even},         {"divisibleby", is_divisible},
    {"eq", is_equal},          {"equalto", is_equal},
    {"==", is_equal},          {"ne", is_unequal},
    {"!=", is_unequal},        {"lt", is_less},
    {"lessthan", is_less},     {"<", is_less},
    {"gt", is_greater},        {"greaterthan", is_greater},
    {">", is_greater},         {"le", is_less_equal},
    {"<=", is_less_equal},     {"ge", is_greater_equal},
    {">=", is_greater_equal},  {"in", is_in},
    {"sameas", is_same},       {"filter", is_filter},
    {"test", is_test},
};

}  // namespace

TestFunction find_test(std::string_view name) {
    for (const Entry& entry : kTests) {
        if (entry.name == name) return entry.function;
    }
    return nullptr;
}

}  // namespace takt::jinja
