// Making values under the limits, binding arguments, iterating.
#include "tokenizer/jinja/machine.h"

#include "tokenizer/jinja/text.h"

namespace takt::jinja {

Value Machine::text(std::string bytes, bool safe) {
    take_bytes(bytes.size());
    auto made = std::make_shared<Text>();
    made->n_chars = count_chars(bytes);
    made->bytes = std::move(bytes);
    made->safe = safe;
    return Value(std::shared_ptr<const Text>(std::move(made)));
}

Value Machine::list(Values items, Flavour flavour) {
    step(1 + items.size());
    uint32_t deepest = 0;
    for (const Value& item : items) deepest = std::max(deepest, depth_of(item));
    if (deepest >= limits.max_depth)
        fail("a value nests deeper than the limit of {} levels", limits.max_depth);
    return Value(std::shared_ptr<const List>(std::make_shared<List>(std::move(items), flavour, deepest + 1)));
}

Value Machine::dict(std::shared_ptr<Dict> dict) {
    step(1 + dict->items.size());
    if (dict->depth > limits.max_depth)
        fail("a value nests deeper than the limit of {} levels", limits.max_depth);
    return Value(std::shared_ptr<const Dict>(std::move(dict)));
}

Value Machine::undefined(std::string why) {
    return Undefined{std::make_shared<const std::string>(std::move(why))};
}

Bound::Bound(const Args& args, std::string_view function, std::initializer_list<std::string_view> names,
             size_t required)
    : function_(function) {
    if (args.positional.size() > names.size()) {
        fail("{} takes at most {} arguments, {} were given", function, names.size(), args.positional.size());
    }
    for (size_t i = 0; i < args.positional.size(); ++i) values_[i] = &args.positional[i];
    for (const auto& [name, value] : args.named) {
        size_t i = 0;
        while (i < names.size() && *(names.begin() + i) != name) ++i;
        if (i == names.size()) fail("{} has no argument '{}'", function, name);
        if (values_[i]) fail("{} got two values for its argument '{}'", function, name);
        values_[i] = &value;
    }
    for (size_t i = 0; i < required; ++i) {
        if (!values_[i]) fail("{} misses its argument '{}'", function, *(names.begin() + i));
    }
}

bool Bound::truth(size_t i, bool otherwise) const {
    return values_[i] ? truthy(*values_[i]) : otherwise;
}

Int Bound::integer(size_t i, Int otherwise) const {
    if (!values_[i]) return otherwise;
    if (values_[i]->is_undefined()) fail_undefined(*values_[i]);
    if (!values_[i]->is_integral()) fail("{} wants an integer, not '{}'", function_, type_name(*values_[i]));
    return values_[i]->integer();
}

std::string_view Bound::text(size_t i, std::string_view otherwise) const {
    if (!values_[i]) return otherwise;
    if (values_[i]->is_undefined()) fail_undefined(*values_[i]);
    if (!values_[i]->is_text()) fail("{} wants a string, not '{}'", function_, type_name(*values_[i]));
    return values_[i]->str();
}

void fail_undefined(const Value& value) {
    const auto& why = value.undefined().why;
    throw Error{why ? *why : "a value is undefined"};
}

Values iterate(Machine& m, const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return {};
        case Kind::text: {
            Values chars;
            const std::string_view text = value.str();
            for (size_t pos = 0; pos < text.size();) {
                const size_t size = char_at(text, pos).size;
                chars.push_back(m.text(std::string(text.substr(pos, size))));
                pos += size;
            }
            return chars;
        }
        case Kind::list: {
            const List& list = value.list();
            m.step(list.items.size());
            if (list.sized()) return list.items;
            const size_t first = std::exchange(list.n_taken, list.items.size());
            return Values(list.items.begin() + static_cast<std::ptrdiff_t>(first), list.items.end());
        }
        case Kind::dict: {
            Values keys;
            m.step(value.dict().items.size());
            for (const auto& item : value.dict().items) keys.push_back(item.first);
            return keys;
        }
        default:
            fail("'{}' object is not iterable", type_name(value));
    }
}

size_t length(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return 0;
        case Kind::text:
            return value.text().n_chars;
        case Kind::dict:
            return value.dict().items.size();
        case Kind::list:
            if (value.list().sized()) return value.list().items.size();
            break;
        default:
            break;
    }
    fail("object of type '{}' has no len()", type_name(value));
}

}  // namespace takt::jinja
