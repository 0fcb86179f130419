// The filters that order, cut and fold sequences.
#include <algorithm>
#include <optional>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/arithmetic.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/merge_sort.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

Value first(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'first'", {});
    if (input.is_list() && !input.list().items.empty()) {
        const List& list = input.list();
        if (list.sized()) return list.items[0];
        if (list.n_taken < list.items.size()) return list.items[list.n_taken++];
    } else if (!input.is_list()) {
        Values items = iterate(m, input);
        if (!items.empty()) return std::move(items[0]);
    }
    return m.undefined("the first item of an empty sequence is undefined");
}

Value last(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'last'", {});
    if (input.is_list() && !input.list().sized()) fail("'generator' object is not reversible");
    if (input.is_list() && !input.list().items.empty()) return input.list().items.back();
    Values items = iterate(m, input);
    if (items.empty()) return m.undefined("the last item of an empty sequence is undefined");
    return std::move(items.back());
}

Value length_filter(Machine&, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'length'", {});
    return length(input);
}

Value list_filter(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'list'", {});
    return m.list(iterate(m, input));
}

Value join(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'join'", {"d", "attribute"});
    const std::string separator = bound.given(0) ? to_str(m, bound.at(0)) : std::string();
    const bool by_attribute = bound.given(1) && !bound.at(1).is_none();
    Sink out(m);
    bool begun = false;
    for (const Value& item : iterate(m, input)) {
        if (std::exchange(begun, true)) out.add(separator);
        print(out, by_attribute ? get_path(m, item, bound.at(1)) : item);
    }
    return m.text(out.take());
}

Value reverse(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'reverse'", {});
    Values items = iterate(m, input);
    std::reverse(items.begin(), items.end());
    if (input.is_text()) {
        std::string out;
        for (const Value& item : items) out += item.str();
        return m.text(std::move(out));
    }
    const bool generator = input.is_list() && !input.list().sized();
    return m.list(std::move(items), generator ? Flavour::list : Flavour::generator);
}

// What an item is ordered by: itself or its attribute, texts in lower case unless case counts.
struct Key {
    const Value* attribute = nullptr;  // null: the item itself
    const Value* otherwise = nullptr;  // for a missing attribute
    bool case_sensitive = false;

    Value operator()(Machine& m, const Value& item) const {
        const Value value = attribute ? get_path(m, item, *attribute, otherwise) : item;
        return case_sensitive ? value : ignore_case(m, value);
    }
};

const Value* unless_none(const Value* value) {
    return value && !value->is_none() ? value : nullptr;
}

// 'a,b' orders by a, then by b.
Value sort_key(Machine& m, const Key& key, const Value& item) {
    if (!key.attribute || !key.attribute->is_text() ||
        key.attribute->str().find(',') == std::string_view::npos) {
        return key(m, item);
    }
    Values parts;
    for (const std::string_view part : split(key.attribute->str(), ",", -1, false)) {
        const Value attribute = m.text(std::string(part));
        parts.push_back(Key{&attribute, key.otherwise, key.case_sensitive}(m, item));
    }
    return m.list(std::move(parts));
}

Values sorted(Machine& m, const Values& items, const Key& key, bool reversed) {
    std::vector<std::pair<Value, size_t>> order;
    for (size_t i = 0; i < items.size(); ++i) order.emplace_back(sort_key(m, key, items[i]), i);
    merge_sort(order, [&](const auto& a, const auto& b) {
        return reversed ? less(m, b.first, a.first) : less(m, a.first, b.first);
    });
    Values out;
    for (const auto& entry : order) out.push_back(items[entry.second]);
    return out;
}

Value sort(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'sort'", {"reverse", "case_sensitive", "attribute"});
    const Key key{unless_none(bound[2]), nullptr, bound.truth(1, false)};
    return m.list(sorted(m, iterate(m, input), key, bound.truth(0, false)));
}

Value unique(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'unique'", {"case_sensitive", "attribute"});
    const Key key{unless_none(bound[1]), nullptr, bound.truth(0, false)};
    Dict seen;
    Values out;
    for (const Value& item : iterate(m, input)) {
        Value value = key(m, item);
        require_hashable(value);
        m.step(value.is_text() ? 1 : 1 + seen.items.size());
        if (seen.find(value)) continue;
        seen.set(std::move(value), None{});
        out.push_back(item);
    }
    return m.list(std::move(out), Flavour::generator);
}

Value extreme(Machine& m, const Value& input, const Args& args, bool largest) {
    const Bound bound(args, largest ? "the filter 'max'" : "the filter 'min'",
                      {"case_sensitive", "attribute"});
    const Key key{unless_none(bound[1]), nullptr, bound.truth(0, false)};
    const Values items = iterate(m, input);
    if (items.empty()) return m.undefined("the extreme of an empty sequence is undefined");
    size_t best = 0;
    Value best_key = key(m, items[0]);
    for (size_t i = 1; i < items.size(); ++i) {
        Value other = key(m, items[i]);
        if (largest ? less(m, best_key, other) : less(m, other, best_key)) {
            best = i;
            best_key = std::move(other);
        }
    }
    return items[best];
}

Value minimum(Machine& m, const Value& input, const Args& args) {
    return extreme(m, input, args, false);
}
Value maximum(Machine& m, const Value& input, const Args& args) {
    return extreme(m, input, args, true);
}

Value sum(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'sum'", {"attribute", "start"});
    Value total = bound.given(1) ? bound.at(1) : Value(0);
    if (total.is_text()) fail("sum() can't sum strings");
    const Value* attribute = unless_none(bound[0]);
    for (const Value& item : iterate(m, input)) {
        total = apply(m, Operator::add, total, attribute ? get_path(m, item, *attribute) : item);
    }
    return total;
}

Value group_by(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'groupby'", {"attribute", "default", "case_sensitive"}, 1);
    const Key key{&bound.at(0), unless_none(bound[1]), bound.truth(2, false)};
    const Key shown{&bound.at(0), unless_none(bound[1]), true};
    const Values items = sorted(m, iterate(m, input), key, false);
    Values groups;
    for (size_t begin = 0; begin < items.size();) {
        const Value value = key(m, items[begin]);
        Values members;
        size_t end = begin;
        while (end < items.size() && equals(m, key(m, items[end]), value)) members.push_back(items[end++]);
        if (end == begin) fail("an attribute that doesn't equal itself can't be grouped by");
        groups.push_back(m.list({shown(m, items[begin]), m.list(std::move(members))}, Flavour::group));
        begin = end;
    }
    return m.list(std::move(groups));
}

Value dict_sort(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'dictsort'", {"case_sensitive", "by", "reverse"});
    if (input.is_undefined()) fail_undefined(input);
    if (!input.is_dict()) fail("dictsort wants a mapping, not {}", type_name(input));
    const std::string_view by = bound.text(1, "key");
    if (by != "key" && by != "value") fail("dictsort orders by 'key' or 'value', not '{}'", by);
    Values pairs;
    for (const auto& [key, value] : input.dict().items) pairs.push_back(m.list({key, value}, Flavour::tuple));
    const Value position = by == "key" ? 0 : 1;
    const Key key{&position, nullptr, bound.truth(0, false)};
    return m.list(sorted(m, pairs, key, bound.truth(2, false)));
}

Value items(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'items'", {});
    Values pairs;
    if (input.is_dict()) {
        for (const auto& [key, value] : input.dict().items)
            pairs.push_back(m.list({key, value}, Flavour::tuple));
    } else if (!input.is_undefined()) {
        fail("can only get item pairs from a mapping");
    }
    return m.list(std::move(pairs), Flavour::generator);
}

Value batch(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'batch'", {"linecount", "fill_with"}, 1);
    const Int n = bound.integer(0, 0);
    if (n < 1 || n > static_cast<Int>(m.limits.max_steps))
        fail("batch() wants a positive number of items, not {}", n);
    Values batches;
    Values one;
    for (const Value& item : iterate(m, input)) {
        if (static_cast<Int>(one.size()) == n) batches.push_back(m.list(std::exchange(one, {})));
        one.push_back(item);
    }
    if (!one.empty()) {
        if (const Value* fill = unless_none(bound[1])) {
            m.step(static_cast<uint64_t>(n));
            one.resize(static_cast<size_t>(n), *fill);
        }
        batches.push_back(m.list(std::move(one)));
    }
    return m.list(std::move(batches), Flavour::generator);
}

Value slice(Machine& m, const Value& input, const Args& args) {
    const Bound bound(args, "the filter 'slice'", {"slices", "fill_with"}, 1);
    const Int n = bound.integer(0, 0);
    if (n < 1 || n > static_cast<Int>(m.limits.max_steps))
        fail("slice() wants a positive number of slices, not {}", n);
    m.step(static_cast<uint64_t>(n));
    const Values all = iterate(m, input);
    const auto count = static_cast<size_t>(n);
    const Value* fill = unless_none(bound[1]);
    Values slices;
    size_t begin = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t size = all.size() / count + (i < all.size() % count);
        Values one(all.begin() + static_cast<std::ptrdiff_t>(begin),
                   all.begin() + static_cast<std::ptrdiff_t>(begin + size));
        if (fill && i >= all.size() % count) one.push_back(*fill);
        slices.push_back(m.list(std::move(one)));
        begin += size;
    }
    return m.list(std::move(slices), Flavour::generator);
}

constexpr FilterEntry kFilters[] = {
    {"first", first},      {"last", last},          {"length", length_filter}, {"count", length_filter},
    {"list", list_filter}, {"join", join},          {"reverse", reverse},      {"sort", sort},
    {"unique", unique},    {"min", minimum},        {"max", maximum},          {"sum", sum},
    {"groupby", group_by}, {"dictsort", dict_sort}, {"items", items},          {"batch", batch},
    {"slice", slice},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() {
    return kFilters;
}

}  // namespace takt::jinja
