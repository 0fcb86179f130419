// The functions every template may call.
#include <limits>

#include "tokenizer/jinja/evaluator.h"

namespace takt::jinja {

namespace {

// As Jinja2's sandbox has it.
constexpr Int kMaxRange = 100'000;

Value range(Machine& m, const Args& args) {
    const Bound bound(args, "range()", {"start", "stop", "step"}, 1);
    const bool one = args.positional.size() == 1;
    const Int start = one ? 0 : bound.integer(0, 0);
    const Int stop = one ? bound.integer(0, 0) : bound.integer(1, 0);
    const Int step = bound.integer(2, 1);
    constexpr Int kEnd = std::numeric_limits<int64_t>::max();
    if (start < -kEnd || start > kEnd || stop < -kEnd || stop > kEnd || step < -kEnd || step > kEnd) {
        fail("range() wants 64-bit integers");
    }
    if (step == 0) fail("range() arg 3 must not be zero");
    const Int n = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    if (n > kMaxRange) fail("a range of {} items passes the limit of {}", n, kMaxRange);
    Values items;
    for (Int i = 0; i < n; ++i) items.emplace_back(start + i * step);
    m.step(items.size());
    auto list = std::make_shared<List>(std::move(items), Flavour::range, 1);
    list->start = static_cast<int64_t>(start);
    list->stop = static_cast<int64_t>(stop);
    list->step = static_cast<int64_t>(step);
    return Value(std::shared_ptr<const List>(std::move(list)));
}

// dict(other, a=1) and namespace(other, a=1): a mapping or pairs, then names.
void fill(Machine& m, Dict& out, const Args& args, std::string_view function) {
    if (args.positional.size() > 1) fail("{} takes at most one value without a name", function);
    for (const Value& value : args.positional) {
        if (value.is_undefined()) continue;
        if (value.is_dict()) {
            for (const auto& [key, item] : value.dict().items) {
                m.step();
                out.set(key, item);
            }
            continue;
        }
        for (const Value& pair : iterate(m, value)) {
            const Values parts = iterate(m, pair);
            if (parts.size() != 2) fail("{} wants pairs, one item has {} parts", function, parts.size());
            require_hashable(parts[0]);
            m.step(1 + out.items.size() / 8);
            out.set(parts[0], parts[1]);
        }
    }
    for (const auto& [name, value] : args.named) out.set(m.text(name), value);
}

Value make_dict(Machine& m, const Args& args) {
    auto made = std::make_shared<Dict>();
    fill(m, *made, args, "dict()");
    return m.dict(std::move(made));
}

Value make_namespace(Machine& m, const Args& args) {
    auto& made = m.keep(std::make_unique<Namespace>());
    fill(m, made.members, args, "namespace()");
    return Machine::borrowed(made);
}

Value raise_exception(Machine& m, const Args& args) {
    const Bound bound(args, "raise_exception()", {"message"}, 1);
    throw Error{to_str(m, bound.at(0))};
}

Value strftime_now(Machine& m, const Args& args) {
    const Bound bound(args, "strftime_now()", {"format"}, 1);
    return m.text(format_time(bound.text(0, ""), m.now_unix_seconds));
}

struct Entry {
    std::string_view name;
    Function::Body body;
};
constexpr Entry kFunctions[] = {{"range", range},
                                {"dict", make_dict},
                                {"namespace", make_namespace},
                                {"raise_exception", raise_exception},
                                {"strftime_now", strftime_now}};

}  // namespace

Value global_function(std::string_view name) {
    for (const Entry& entry : kFunctions) {
        if (entry.name == name) return Value(std::shared_ptr<Object>(std::make_shared<Function>(entry.body)));
    }
    return {};
}

}  // namespace takt::jinja
