// The methods of texts.
#include <algorithm>
#include <limits>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/format.h"
#include "tokenizer/jinja/print.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

int64_t clamped(Int value) {
    return static_cast<int64_t>(
        std::clamp<Int>(value, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

Value texts(Machine& m, const std::vector<std::string_view>& parts, Flavour flavour = Flavour::list) {
    Values items;
    for (const std::string_view part : parts) items.push_back(m.text(std::string(part)));
    return m.list(std::move(items), flavour);
}

template <std::string (*map)(std::string_view)>
Value mapped(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "a method of str", {});
    m.take_bytes(self.str().size());
    return m.text(map(self.str()), self.text().safe);
}

template <bool (*test)(uint32_t)>
Value all_are(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "a method of str", {});
    m.take_bytes(self.str().size());
    return all_chars(self.str(), test);
}

Value is_upper_text(Machine&, const Value& self, const Args&) {
    return all_upper(self.str());
}
Value is_lower_text(Machine&, const Value& self, const Args&) {
    return all_lower(self.str());
}
Value is_ascii_text(Machine&, const Value& self, const Args&) {
    return self.text().ascii();
}
Value is_title_text(Machine&, const Value& self, const Args&) {
    return std::any_of(self.str().begin(), self.str().end(),
                       [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }) &&
           title(self.str()) == self.str();
}
bool is_alnum(uint32_t c) {
    return is_word(c) && c != '_';
}

template <Side side>
Value stripped(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "strip()", {"chars"});
    const bool spaces = !bound.given(0) || bound.at(0).is_none();
    const std::string_view text = self.str();
    return m.text(std::string(spaces ? strip(text, side) : strip(text, bound.text(0, ""), side)),
                  self.text().safe);
}

template <bool from_right>
Value split_text(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "split()", {"sep", "maxsplit"});
    const int64_t limit = clamped(bound.integer(1, -1));
    m.take_bytes(self.str().size());
    if (!bound.given(0) || bound.at(0).is_none()) return texts(m, split_space(self.str(), limit, from_right));
    const std::string_view separator = bound.text(0, "");
    if (separator.empty()) fail("split() got an empty separator");
    return texts(m, split(self.str(), separator, limit, from_right));
}

template <bool from_right>
Value partition(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "partition()", {"sep"}, 1);
    const std::string_view separator = bound.text(0, "");
    if (separator.empty()) fail("partition() got an empty separator");
    const auto parts = split(self.str(), separator, 1, from_right);
    if (parts.size() == 2) return texts(m, {parts[0], separator, parts[1]}, Flavour::tuple);
    if (from_right) return texts(m, {"", "", self.str()}, Flavour::tuple);
    return texts(m, {self.str(), "", ""}, Flavour::tuple);
}

Value lines(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "splitlines()", {"keepends"});
    return texts(m, split_lines(self.str(), bound.truth(0, false)));
}

// The part of a text that start and end choose, and how many characters lie before it.
struct Part {
    std::string_view text;
    size_t n_before;
    bool outside;  // start lies past the end
};

Part part_of(const Value& self, const Bound& bound) {
    const auto n = static_cast<Int>(self.text().n_chars);
    const auto place = [&](size_t i, Int otherwise) {
        if (!bound.given(i) || bound.at(i).is_none()) return otherwise;
        const Int index = bound.integer(i, 0);
        return index < 0 ? std::max<Int>(0, index + n) : index;
    };
    const Int begin = place(1, 0);
    const Int end = std::min(place(2, n), n);
    if (begin > n || begin > end) return {{}, 0, true};
    const std::string_view rest = self.str().substr(byte_of_char(self.str(), static_cast<size_t>(begin)));
    return {rest.substr(0, byte_of_char(rest, static_cast<size_t>(end - begin))), static_cast<size_t>(begin),
            false};
}

template <bool from_right, bool must>
Value find_text(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, must ? "index()" : "find()", {"sub", "start", "end"}, 1);
    const std::string_view needle = bound.text(0, "");
    const Part part = part_of(self, bound);
    m.step(self.str().size() / 64);
    size_t place = std::string_view::npos;
    if (!part.outside && from_right) {
        const auto parts =
            needle.empty() ? std::vector<std::string_view>{part.text, {}} : split(part.text, needle, 1, true);
        if (parts.size() == 2) place = parts[0].size();
    } else if (!part.outside) {
        place = find(part.text, needle);
    }
    if (place != std::string_view::npos) return part.n_before + count_chars(part.text.substr(0, place));
    if (must) fail("substring not found");
    return -1;
}

Value count_text(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "count()", {"sub", "start", "end"}, 1);
    m.take_bytes(self.str().size());
    const Part part = part_of(self, bound);
    return part.outside ? size_t{0} : count(part.text, bound.text(0, ""));
}

template <bool at_end>
Value has_affix(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, at_end ? "endswith()" : "startswith()", {"prefix", "start", "end"}, 1);
    const Part part = part_of(self, bound);
    const Value& affix = bound.at(0);
    const auto has = [&](const Value& one) {
        if (one.is_undefined()) fail_undefined(one);
        if (!one.is_text())
            fail("startswith() and endswith() want a string or a tuple of them, not {}", type_name(one));
        m.step();
        return !part.outside && (at_end ? part.text.ends_with(one.str()) : part.text.starts_with(one.str()));
    };
    if (!affix.is_list() || !affix.list().tuple()) return has(affix);
    return std::any_of(affix.list().items.begin(), affix.list().items.end(), has);
}

template <bool at_end>
Value remove_affix(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, at_end ? "removesuffix()" : "removeprefix()", {"affix"}, 1);
    const std::string_view affix = bound.text(0, "");
    std::string_view text = self.str();
    if (at_end ? text.ends_with(affix) : text.starts_with(affix)) {
        text = at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size());
    }
    return m.text(std::string(text));
}

Value replace_text(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "replace()", {"old", "new", "count"}, 2);
    const std::string_view from = bound.text(0, "");
    const std::string_view to = bound.text(1, "");
    const int64_t n = clamped(bound.integer(2, -1));
    // The size is known before the memory is taken.
    size_t n_places = count(self.str(), from);
    if (n >= 0) n_places = std::min(n_places, static_cast<size_t>(n));
    m.take_bytes(self.str().size());
    if (to.size() > 0 && n_places > m.limits.max_output_bytes / to.size()) {
        fail("a text passes the limit of {} bytes", m.limits.max_output_bytes);
    }
    m.take_bytes(n_places * to.size());
    return m.text(replace(self.str(), from, to, n), self.text().safe);
}

Value join_text(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "join()", {"iterable"}, 1);
    Sink out(m);
    bool first = true;
    for (const Value& item : iterate(m, bound.at(0))) {
        if (!std::exchange(first, false)) out.add(self.str());
        if (!item.is_text()) fail("join() wants strings, one item is of type '{}'", type_name(item));
        out.add(item.str());
    }
    return m.text(out.take());
}

template <char align>
Value padded(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, align == '^' ? "center()" : "ljust() or rjust()", {"width", "fillchar"}, 1);
    FormatSpec spec;
    spec.width = static_cast<size_t>(std::max<int64_t>(0, clamped(bound.integer(0, 0))));
    spec.fill = bound.text(1, " ");
    if (count_chars(spec.fill) != 1) fail("the fill character must be exactly one character long");
    if (spec.width > m.limits.max_output_bytes)
        fail("a width of {} passes the limit of {}", spec.width, m.limits.max_output_bytes);
    // Python's center puts the odd one left when the width is odd too.
    const size_t n = self.text().n_chars;
    if (align == '^' && spec.width > n && (spec.width - n) % 2 == 1 && spec.width % 2 == 1) {
        FormatSpec left = spec;
        left.width = n + (spec.width - n) / 2 + 1;
        return m.text(pad(m, spec, pad(m, left, self.str(), '>'), '<'));
    }
    return m.text(pad(m, spec, self.str(), align));
}

Value zero_filled(Machine& m, const Value& self, const Args& args) {
    const Bound bound(args, "zfill()", {"width"}, 1);
    FormatSpec spec;
    spec.fill = "0";
    std::string_view text = self.str();
    const bool sign = text.starts_with('-') || text.starts_with('+');
    spec.width = static_cast<size_t>(
        std::clamp<Int>(bound.integer(0, 0) - sign, 0, static_cast<Int>(m.limits.max_output_bytes) + 1));
    if (spec.width > m.limits.max_output_bytes)
        fail("a width passes the limit of {}", m.limits.max_output_bytes);
    return m.text(std::string(text.substr(0, sign)) + pad(m, spec, text.substr(sign), '>'));
}

struct Entry {
    std::string_view name;
    MethodFunction function;
};
constexpr Entry kMethods[] = {
    {"strip", stripped<Side::both>},
    {"lstrip", stripped<Side::left>},
    {"rstrip", stripped<Side::right>},
    {"split", split_text<false>},
    {"rsplit", split_text<true>},
    {"splitlines", lines},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"startswith", has_affix<false>},
    {"endswith", has_affix<true>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"upper", mapped<upper>},
    {"lower", mapped<lower>},
    {"casefold", mapped<lower>},
    {"title", mapped<title>},
    {"capitalize", mapped<capitalize>},
    {"swapcase", mapped<swapcase>},
    {"replace", replace_text},
    {"find", find_text<false, false>},
    {"rfind", find_text<true, false>},
    {"index", find_text<false, true>},
    {"rindex", find_text<true, true>},
    {"count", count_text},
    {"join", join_text},
    {"format", format_braces},
    {"center", padded<'^'>},
    {"ljust", padded<'<'>},
    {"rjust", padded<'>'>},
    {"zfill", zero_filled},
    {"isspace", all_are<is_space>},
    {"isalpha", all_are<is_alpha>},
    {"isdigit", all_are<is_decimal>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_decimal>},
    {"isalnum", all_are<is_alnum>},
    {"isupper", is_upper_text},
    {"islower", is_lower_text},
    {"istitle", is_title_text},
    {"isascii", is_ascii_text},
};

}  // namespace

MethodFunction find_text_method(std::string_view name) {
    for (const Entry& entry : kMethods) {
        if (entry.name == name) return entry.function;
    }
    return nullptr;
}

}  // namespace takt::jinja
