// Attributes, items and slices of values. Only what the tables name can be reached: nothing of the host runs.
#pragma once

#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

// value.name; undefined if there is none.
Value get_attribute(Machine& m, const Value& value, std::string_view name);
// value[key]; undefined if there is none.
Value get_item(Machine& m, const Value& value, const Value& key);
// value[from:to:step]; none or undefined bounds are open.
Value get_slice(Machine& m, const Value& value, const Value& from, const Value& to, const Value& step);
// Attribute path of filters: 'a.b.0', or an integer. With otherwise, it stands for each missing part.
Value get_path(Machine& m, const Value& value, const Value& path, const Value* otherwise = nullptr);

// A method of a text, list, dict or number, kept with its object until it is called.
using MethodFunction = Value (*)(Machine&, const Value& self, const Args&);
struct Method : Object {
    Method(Value s, MethodFunction f) : Object(Object::Type::method), self(std::move(s)), function(f) {}
    Value self;
    MethodFunction function;
};
// Null: the value has no such method.
MethodFunction find_method(const Value& self, std::string_view name);
MethodFunction find_text_method(std::string_view name);  // its own file: the longest list

// loop.cycle and loop.changed
struct Loop;
struct LoopMethod : Object {
    LoopMethod(Loop& l, bool c) : Object(Object::Type::loop_method), loop(l), cycle(c) {}
    Loop& loop;
    bool cycle;
};

}  // namespace takt::jinja
