// map, select and their kin: filters that run another filter or test on each item.
#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

Args without_first(const Args& args, size_t n) {
    Args rest;
    rest.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(n), args.positional.end());
    rest.named = args.named;
    return rest;
}

Value map_attribute(Machine& m, const Value& input, const Args& args) {
    const Value* attribute = nullptr;
    const Value* otherwise = nullptr;
    for (const auto& [name, value] : args.named) {
        if (name == "attribute") {
            attribute = &value;
        } else if (name == "default") {
            otherwise = value.is_none() ? nullptr : &value;
        } else {
            fail("unexpected keyword argument '{}' of the filter 'map'", name);
        }
    }
    if (!attribute) fail("the filter 'map' requires a filter's name or an attribute");
    Values out;
    for (const Value& item : iterate(m, input)) out.push_back(get_path(m, item, *attribute, otherwise));
    return m.list(std::move(out), Flavour::generator);
}

Value map(Machine& m, const Value& input, const Args& args) {
    if (args.positional.empty()) return map_attribute(m, input, args);
    if (!args.positional[0].is_text()) fail("the filter 'map' wants a filter's name");
    const FilterFunction function = find_filter(args.positional[0].str());
    if (!function) fail("unknown filter '{}'", args.positional[0].str());
    const Args rest = without_first(args, 1);
    const Nest nest(m.depth);
    Values out;
    for (const Value& item : iterate(m, input)) {
        m.step();
        out.push_back(function(m, item, rest));
    }
    return m.list(std::move(out), Flavour::generator);
}

Value choose(Machine& m, const Value& input, const Args& args, bool by_attribute, bool wanted) {
    const size_t n_own = by_attribute ? 1 : 0;
    if (args.positional.size() < n_own) fail("the filter wants the attribute's name");
    TestFunction test = nullptr;
    Args rest;
    if (args.positional.size() > n_own) {
        const Value& name = args.positional[n_own];
        if (!name.is_text()) fail("the filter wants a test's name");
        test = find_test(name.str());
        if (!test) fail("unknown test '{}'", name.str());
        rest = without_first(args, n_own + 1);
    }
    Values out;
    for (Value& item : iterate(m, input)) {
        m.step();
        const Value value = by_attribute ? get_path(m, item, args.positional[0]) : item;
        if ((test ? test(m, value, rest) : truthy(value)) == wanted) out.push_back(std::move(item));
    }
    return m.list(std::move(out), Flavour::generator);
}

Value select(Machine& m, const Value& input, const Args& args) {
    return choose(m, input, args, false, true);
}
Value reject(Machine& m, const Value& input, const Args& args) {
    return choose(m, input, args, false, false);
}
Value select_attr(Machine& m, const Value& input, const Args& args) {
    return choose(m, input, args, true, true);
}
Value reject_attr(Machine& m, const Value& input, const Args& args) {
    return choose(m, input, args, true, false);
}

constexpr FilterEntry kFilters[] = {
    {"map", map},
    {"select", select},
    {"reject", reject},
    {"selectattr", select_attr},
    {"rejectattr", reject_attr},
};

}  // namespace

std::span<const FilterEntry> selection_filters() {
    return kFilters;
}

}  // namespace takt::jinja
