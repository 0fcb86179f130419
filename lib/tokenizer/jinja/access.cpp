// Looking into values.
#include "tokenizer/jinja/access.h"

#include <algorithm>

#include "tokenizer/jinja/loop.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

// Methods that would change their object: known, and refused when called.
bool changes_object(const Value& value, std::string_view name) {
    static constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                                 "insert", "sort",  "extend", "remove"};
    static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    if (value.is_list() && value.list().flavour == Flavour::list) {
        return std::find(std::begin(kList), std::end(kList), name) != std::end(kList);
    }
    return value.is_dict() && std::find(std::begin(kDict), std::end(kDict), name) != std::end(kDict);
}

Value loop_attribute(Machine& m, Loop& loop, std::string_view name) {
    const size_t n = loop.items.size();
    if (name == "index") return loop.index + 1;
    if (name == "index0") return loop.index;
    if (name == "revindex") return n - loop.index;
    if (name == "revindex0") return n - loop.index - 1;
    if (name == "first") return loop.index == 0;
    if (name == "last") return loop.index + 1 == n;
    if (name == "length") return n;
    if (name == "depth") return static_cast<size_t>(loop.level + 1);
    if (name == "depth0") return static_cast<size_t>(loop.level);
    if (name == "previtem" && loop.index > 0) return loop.items[loop.index - 1];
    if (name == "nextitem" && loop.index + 1 < n) return loop.items[loop.index + 1];
    if (name == "previtem") return m.undefined("there is no previous item: it is undefined");
    if (name == "nextitem") return m.undefined("there is no next item: it is undefined");
    if (name == "cycle" || name == "changed") {
        return Value(std::shared_ptr<Object>(std::make_shared<LoopMethod>(loop, name == "cycle")));
    }
    return m.undefined(fmt::format("'loop' has no attribute '{}': it is undefined", name));
}

Value no_attribute(Machine& m, const Value& value, std::string_view name) {
    return m.undefined(fmt::format("'{}' has no attribute '{}': it is undefined", described(value), name));
}

// Position in a sequence of n, counted from its end where negative; n if it is outside.
size_t position(Int index, size_t n) {
    const auto size = static_cast<Int>(n);
    if (index < 0) index += size;
    return index >= 0 && index < size ? static_cast<size_t>(index) : n;
}

Value text_item(Machine& m, const Text& text, size_t index) {
    if (text.ascii()) return m.text(text.bytes.substr(index, 1));
    m.step(text.bytes.size() / 64);
    const size_t begin = byte_of_char(text.bytes, index);
    return m.text(text.bytes.substr(begin, char_at(text.bytes, begin).size));
}

}  // namespace

Value get_attribute(Machine& m, const Value& value, std::string_view name) {
    m.step();
    if (value.is_undefined()) {
        const auto& why = value.undefined().why;
        fail("{}, so it has no attribute '{}'", why ? *why : "a value is undefined", name);
    }
    if (name.starts_with("__")) {
        return m.undefined(fmt::format("access to attribute '{}' of '{}' is unsafe: it is undefined", name,
                                       described(value)));
    }
    if (value.is(Kind::object)) {
        Object& object = value.object();
        if (object.type == Object::Type::loop) return loop_attribute(m, static_cast<Loop&>(object), name);
        if (object.type == Object::Type::name_space) {
            if (const Value* member = static_cast<Namespace&>(object).members.find(name)) return *member;
        }
        return no_attribute(m, value, name);
    }
    if (const MethodFunction method = find_method(value, name)) {
        return Value(std::shared_ptr<Object>(std::make_shared<Method>(value, method)));
    }
    if (changes_object(value, name)) {
        return m.undefined(
            fmt::format("'{}' of '{}' is not allowed in a template (undefined): it would change the value",
                        name, described(value)));
    }
    if (value.is_dict()) {
        if (const Value* member = value.dict().find(name)) return *member;
    }
    if (value.is_list() && value.list().flavour == Flavour::group) {
        if (name == "grouper") return value.list().items[0];
        if (name == "list") return value.list().items[1];
    }
    return no_attribute(m, value, name);
}

Value get_item(Machine& m, const Value& value, const Value& key) {
    m.step();
    if (value.is_undefined()) fail_undefined(value);
    if (value.is_dict() && !key.is_dict() && !(key.is_list() && !key.list().tuple())) {
        if (const Value* member = value.dict().find(key)) return *member;
    }
    if (key.is_integral() && value.is_text()) {
        const size_t index = position(key.integer(), value.text().n_chars);
        if (index < value.text().n_chars) return text_item(m, value.text(), index);
    }
    if (key.is_integral() && value.is_list() && value.list().indexed()) {
        const Values& items = value.list().items;
        const size_t index = position(key.integer(), items.size());
        if (index < items.size()) return items[index];
    }
    if (key.is_text()) return get_attribute(m, value, key.str());
    if (key.is_undefined()) fail_undefined(key);
    const std::string shown =
        key.is_integral() ? fmt::format("{}", key.integer()) : std::string(type_name(key));
    return m.undefined(fmt::format("'{}' has no element {}: it is undefined", described(value), shown));
}

namespace {

struct SliceBounds {
    Int begin;
    Int end;
    Int step;
};

Int bound(const Value& value, Int otherwise, Int low, Int high, Int n) {
    if (value.is_none()) return otherwise;
    if (value.is_undefined()) fail_undefined(value);
    if (!value.is_integral()) fail("slice indices must be integers or None");
    Int index = value.integer();
    if (index < 0) index = index < -n ? low : index + n;
    return std::clamp(index, low, high);
}

SliceBounds slice_bounds(const Value& from, const Value& to, const Value& step_value, size_t size) {
    const auto n = static_cast<Int>(size);
    constexpr Int kHuge = Int{1} << 100;  // a longer step is no different, and can't overflow
    if (!step_value.is_none() && !step_value.is_integral()) fail("slice indices must be integers or None");
    const Int step = step_value.is_none() ? 1 : std::clamp<Int>(step_value.integer(), -kHuge, kHuge);
    if (step == 0) fail("slice step cannot be zero");
    if (step > 0) return {bound(from, 0, 0, n, n), bound(to, n, 0, n, n), step};
    return {bound(from, n - 1, -1, n - 1, n), bound(to, -1, -1, n - 1, n), step};
}

Value slice_text(Machine& m, const Text& text, const SliceBounds& bounds) {
    m.take_bytes(text.bytes.size());
    if (bounds.step == 1 && bounds.begin >= bounds.end) return m.text("");
    if (bounds.step == 1) {
        const auto begin = static_cast<size_t>(bounds.begin);
        const auto n = static_cast<size_t>(bounds.end) - begin;
        if (text.ascii()) return m.text(text.bytes.substr(begin, n));
        const size_t from = byte_of_char(text.bytes, begin);
        const std::string_view rest = std::string_view(text.bytes).substr(from);
        return m.text(std::string(rest.substr(0, byte_of_char(rest, n))));
    }
    std::vector<uint32_t> chars;
    for (size_t pos = 0; pos < text.bytes.size();) {
        const Utf8Step c = char_at(text.bytes, pos);
        chars.push_back(c.code_point);
        pos += c.size;
    }
    std::string out;
    for (Int i = bounds.begin; bounds.step > 0 ? i < bounds.end : i > bounds.end; i += bounds.step) {
        append_utf8(out, chars[static_cast<size_t>(i)]);
    }
    return m.text(std::move(out));
}

}  // namespace

Value get_slice(Machine& m, const Value& value, const Value& from, const Value& to, const Value& step) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is_text())
        return slice_text(m, value.text(), slice_bounds(from, to, step, value.text().n_chars));
    if (!value.is_list() || !value.list().indexed()) {
        return m.undefined(fmt::format("'{}' can't be sliced: the slice is undefined", described(value)));
    }
    const Values& all = value.list().items;
    const SliceBounds bounds = slice_bounds(from, to, step, all.size());
    Values items;
    for (Int i = bounds.begin; bounds.step > 0 ? i < bounds.end : i > bounds.end; i += bounds.step) {
        m.step();
        items.push_back(all[static_cast<size_t>(i)]);
    }
    return m.list(std::move(items), value.list().tuple() ? Flavour::tuple : Flavour::list);
}

Value get_path(Machine& m, const Value& value, const Value& path, const Value* otherwise) {
    const auto or_otherwise = [&](Value found) {
        return otherwise && found.is_undefined() ? *otherwise : found;
    };
    if (path.is_integral()) return or_otherwise(get_item(m, value, path));
    if (path.is_undefined()) fail_undefined(path);
    if (!path.is_text()) fail("an attribute is a string or an integer, not '{}'", type_name(path));
    Value found = value;
    for (const std::string_view part : split(path.str(), ".", -1, false)) {
        const bool digits = part.find_first_not_of("0123456789") == std::string_view::npos;
        if (digits && !part.empty() && part.size() < 10) {
            size_t index = 0;
            for (const char c : part) index = index * 10 + static_cast<size_t>(c - '0');
            found = or_otherwise(get_item(m, found, Value(index)));
        } else {
            found = or_otherwise(get_item(m, found, m.text(std::string(part))));
        }
    }
    return found;
}

}  // namespace takt::jinja
