// The values themselves: names of types, truth, numbers held against each other, dictionaries.
#include "tokenizer/jinja/value.h"

#include <cmath>

#include "tokenizer/jinja/error.h"

namespace takt::jinja {

std::string_view Value::str() const {
    return text().bytes;
}

bool Value::same(const Value& other) const {
    if (kind() != other.kind()) return false;
    switch (kind()) {
        case Kind::undefined:
        case Kind::none:
            return true;
        case Kind::boolean:
            return boolean() == other.boolean();
        case Kind::integer:
            return integer() == other.integer();
        case Kind::floating:
            return floating() == other.floating();
        case Kind::text:
            return str() == other.str();
        case Kind::list:
            return &list() == &other.list();
        case Kind::dict:
            return &dict() == &other.dict();
        case Kind::object:
            return &object() == &other.object();
    }
    return false;
}

void dismantle(Values&& items) noexcept {
    try {
        Values work = std::move(items);
        while (!work.empty()) {
            const Value value = std::move(work.back());
            work.pop_back();
            // The last owner may empty the container: nobody else can see it.
            if (auto* list = std::get_if<std::shared_ptr<const List>>(&value.data_);
                list && list->use_count() == 1) {
                auto& inner = const_cast<List&>(**list).items;
                for (Value& item : inner) work.push_back(std::move(item));
                inner.clear();
            } else if (auto* dict = std::get_if<std::shared_ptr<const Dict>>(&value.data_);
                       dict && dict->use_count() == 1) {
                auto& inner = const_cast<Dict&>(**dict).items;
                for (auto& [key, item] : inner) {
                    work.push_back(std::move(key));
                    work.push_back(std::move(item));
                }
                inner.clear();
            }
        }
    } catch (...) {  // no memory for the work list: the rest is freed the usual way
    }
}

Dict::~Dict() {
    if (depth <= 1) return;
    try {
        Values work;
        for (auto& [key, value] : items) {
            work.push_back(std::move(key));
            work.push_back(std::move(value));
        }
        dismantle(std::move(work));
    } catch (...) {
    }
}

const Value* Dict::find(std::string_view key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : &items[found->second].second;
}

const Value* Dict::find(const Value& key) const {
    const size_t index = index_of(key);
    return index == items.size() ? nullptr : &items[index].second;
}

namespace {

// Hashable values alone: texts, numbers, none and tuples of them.
bool key_equal(const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return number_equal(a, b);
    if (a.is_list() && b.is_list() && a.list().tuple() && b.list().tuple()) {
        const Values& left = a.list().items;
        const Values& right = b.list().items;
        if (left.size() != right.size()) return false;
        for (size_t i = 0; i < left.size(); ++i) {
            if (!key_equal(left[i], right[i])) return false;
        }
        return true;
    }
    return a.same(b);
}

}  // namespace

size_t Dict::index_of(const Value& key) const {
    if (key.is_text()) {
        const auto found = texts_.find(key.str());
        return found == texts_.end() ? items.size() : found->second;
    }
    for (const size_t i : others_) {
        if (key_equal(items[i].first, key)) return i;
    }
    return items.size();
}

void Dict::set(Value key, Value value) {
    depth = std::max({depth, depth_of(key) + 1, depth_of(value) + 1});
    const size_t index = index_of(key);
    if (index < items.size()) {
        items[index].second = std::move(value);
        return;
    }
    items.emplace_back(std::move(key), std::move(value));
    const Value& kept = items.back().first;
    if (kept.is_text()) {
        texts_.emplace(kept.str(), index);  // the text's bytes don't move when items grows
    } else {
        others_.push_back(index);
    }
}

uint32_t depth_of(const Value& value) {
    return value.is_list() ? value.list().depth : value.is_dict() ? value.dict().depth : 0;
}

std::string_view type_name(const Value& value) {
    constexpr std::string_view kFlavours[] = {"list",      "tuple",       "_GroupTuple", "range",
                                              "dict_keys", "dict_values", "dict_items",  "generator"};
    switch (value.kind()) {
        case Kind::undefined:
            return "Undefined";
        case Kind::none:
            return "NoneType";
        case Kind::boolean:
            return "bool";
        case Kind::integer:
            return "int";
        case Kind::floating:
            return "float";
        case Kind::text:
            return value.text().safe ? "Markup" : "str";
        case Kind::list:
            return kFlavours[static_cast<size_t>(value.list().flavour)];
        case Kind::dict:
            return "dict";
        case Kind::object:
            break;
    }
    switch (value.object().type) {
        case Object::Type::name_space:
            return "Namespace";
        case Object::Type::macro:
            return "Macro";
        case Object::Type::loop:
            return "LoopContext";
        default:
            return "function";
    }
}

std::string described(const Value& value) {
    return value.is_none() ? "None" : fmt::format("{} object", type_name(value));
}

bool truthy(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
        case Kind::none:
            return false;
        case Kind::boolean:
            return value.boolean();
        case Kind::integer:
            return value.integer() != 0;
        case Kind::floating:
            return value.floating() != 0;
        case Kind::text:
            return !value.str().empty();
        case Kind::list:
            return !value.list().sized() || !value.list().items.empty();
        case Kind::dict:
            return !value.dict().items.empty();
        case Kind::object:
            return true;
    }
    return false;
}

namespace {

// -1, 0, 1, or 2 where the float is not a number. Beyond 2^53 a double is itself an integer, so no digit is
// lost.
int compare(Int a, double b) {
    if (std::isnan(b)) return 2;
    if (b >= 0x1p127) return -1;
    if (b < -0x1p127) return 1;
    const double whole = std::floor(b);
    const Int floor = static_cast<Int>(whole);
    if (a != floor) return a < floor ? -1 : 1;
    return b > whole ? -1 : 0;
}

}  // namespace

bool number_equal(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
    if (a.is_integral()) return compare(a.integer(), b.floating()) == 0;
    if (b.is_integral()) return compare(b.integer(), a.floating()) == 0;
    return a.floating() == b.floating();
}

bool number_less(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return a.integer() < b.integer();
    if (a.is_integral()) return compare(a.integer(), b.floating()) == -1;
    if (b.is_integral()) return compare(b.integer(), a.floating()) == 1;
    return a.floating() < b.floating();
}

void require_hashable(const Value& key) {
    if (key.is_dict()) fail("unhashable type: 'dict'");
    if (!key.is_list()) return;
    if (!key.list().tuple()) fail("unhashable type: '{}'", type_name(key));
    for (const Value& item : key.list().items) require_hashable(item);
}

}  // namespace takt::jinja
