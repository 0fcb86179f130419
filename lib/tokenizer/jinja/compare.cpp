// Equality, order and membership of values.
#include "tokenizer/jinja/compare.h"

#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

// Lists equal lists, tuples tuples; views and ranges only themselves or their like.
bool comparable(const List& a, const List& b) {
    return a.flavour == b.flavour || (a.tuple() && b.tuple());
}

bool equal_items(Machine& m, const Values& a, const Values& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
        if (!equals(m, a[i], b[i])) return false;
    }
    return true;
}

bool equal_dicts(Machine& m, const Dict& a, const Dict& b) {
    if (a.items.size() != b.items.size()) return false;
    for (const auto& [key, value] : a.items) {
        const Value* other = b.find(key);
        if (!other || !equals(m, value, *other)) return false;
    }
    return true;
}

}  // namespace

bool equals(Machine& m, const Value& a, const Value& b) {
    const Nest nest(m.depth);
    m.step();
    if (a.is_number() && b.is_number()) return number_equal(a, b);
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::text:
            m.step(a.str().size() == b.str().size() ? a.str().size() / 256 : 0);
            return a.str() == b.str();
        case Kind::list: {
            if (&a.list() == &b.list()) return true;
            return comparable(a.list(), b.list()) && a.list().sized() &&
                   equal_items(m, a.list().items, b.list().items);
        }
        case Kind::dict:
            return &a.dict() == &b.dict() || equal_dicts(m, a.dict(), b.dict());
        default:
            return a.same(b);
    }
}

bool less(Machine& m, const Value& a, const Value& b) {
    const Nest nest(m.depth);
    m.step();
    if (a.is_number() && b.is_number()) return number_less(a, b);
    if (a.is_undefined()) fail_undefined(a);
    if (b.is_undefined()) fail_undefined(b);
    if (a.is_text() && b.is_text()) {
        m.step(std::min(a.str().size(), b.str().size()) / 256);
        return a.str() < b.str();  // bytes of UTF-8 sort like code points
    }
    const bool lists = a.is_list() && b.is_list() && comparable(a.list(), b.list());
    if (!lists || !(a.list().flavour == Flavour::list || a.list().tuple())) {
        fail("'<' not supported between instances of '{}' and '{}'", type_name(a), type_name(b));
    }
    const Values& left = a.list().items;
    const Values& right = b.list().items;
    for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
        if (!equals(m, left[i], right[i])) return less(m, left[i], right[i]);
    }
    return left.size() < right.size();
}

bool contains(Machine& m, const Value& haystack, const Value& needle) {
    m.step();
    if (haystack.is_text()) {
        if (needle.is_undefined()) fail_undefined(needle);
        if (!needle.is_text())
            fail("'in <string>' requires string as left operand, not {}", type_name(needle));
        m.step(haystack.str().size() / 64);
        return find(haystack.str(), needle.str()) != std::string_view::npos;
    }
    if (haystack.is_dict()) {
        require_hashable(needle);
        return haystack.dict().find(needle) != nullptr;
    }
    if (!haystack.is_list() && !haystack.is_undefined()) {
        fail("argument of type '{}' is not iterable", type_name(haystack));
    }
    for (const Value& item : iterate(m, haystack)) {
        if (equals(m, item, needle)) return true;
    }
    return false;
}

Value ignore_case(Machine& m, const Value& value) {
    return value.is_text() ? m.text(lower(value.str())) : value;
}

}  // namespace takt::jinja
