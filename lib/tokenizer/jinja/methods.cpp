// The methods of dicts, lists and numbers, and the one place that finds a method.
#include <cmath>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/compare.h"

namespace takt::jinja {

namespace {

template <Flavour flavour>
Value view(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "a method of dict", {});
    Values out;
    m.step(self.dict().items.size());
    for (const auto& [key, value] : self.dict().items) {
        if (flavour == Flavour::items) {
            out.push_back(m.list({key, value}, Flavour::tuple));
        } else {
            out.push_back(flavour == Flavour::keys ? key : value);
        }
    }
    return m.list(std::move(out), flavour);
}

Value get(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "get()", {"key", "default"}, 1);
    m.step();
    require_hashable(bound.at(0));
    if (const Value* found = self.dict().find(bound.at(0))) return *found;
    return bound.given(1) ? bound.at(1) : Value(None{});
}

Value itself(Machine&, const Value& self, const Args& args) {
    const Bound bound(args, "copy()", {});
    return self;
}

Value count_items(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "count()", {"value"}, 1);
    size_t n = 0;
    for (const Value& item : self.list().items) n += equals(m, item, bound.at(0));
    return n;
}

Value index_of(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "index()", {"value"}, 1);
    const Values& items = self.list().items;
    for (size_t i = 0; i < items.size(); ++i) {
        if (equals(m, items[i], bound.at(0))) return i;
    }
    fail("the value is not in the list");
}

Value is_whole(Machine&, const Value& self, const Args& args) {
    const Bound bound(args, "is_integer()", {});
    return std::floor(self.floating()) == self.floating();
}

struct Entry {
    std::string_view name;
    MethodFunction function;
};
constexpr Entry kDictMethods[] = {{"items", view<Flavour::items>},
                                  {"keys", view<Flavour::keys>},
                                  {"values", view<Flavour::values>},
                                  {"get", get},
                                  {"copy", itself}};
constexpr Entry kListMethods[] = {{"count", count_items}, {"index", index_of}};

}  // namespace

MethodFunction find_method(const Value& self, std::string_view name) {
    if (self.is_text()) return find_text_method(name);
    if (self.is_dict()) {
        for (const Entry& entry : kDictMethods) {
            if (entry.name == name) return entry.function;
        }
    } else if (self.is_list() && self.list().indexed()) {
        if (name == "copy" && self.list().flavour == Flavour::list) return itself;
        for (const Entry& entry : kListMethods) {
            if (entry.name == name) return entry.function;
        }
    } else if (self.is(Kind::floating) && name == "is_integer") {
        return is_whole;
    }
    return nullptr;
}

}  // namespace takt::jinja
