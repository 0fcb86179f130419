// The `loop` of a for statement, as the template sees it.
#pragma once

#include <memory>

#include "tokenizer/jinja/value.h"

namespace takt::jinja {

struct Stmt;
class Scope;

struct Loop : Object {
    Loop() : Object(Object::Type::loop) {}
    Values items;
    size_t index = 0;  // from 0
    uint32_t level = 0;
    Values last_changed;
    bool changed_before = false;
    // For {% for … recursive %}: what loop(…) runs again. Null in other loops.
    const Stmt* statement = nullptr;
    std::shared_ptr<Scope> outer;
};

}  // namespace takt::jinja
