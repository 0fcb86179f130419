// == , < and in, with Python's rules and the render's limits.
#pragma once

#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

bool equals(Machine& m, const Value& a, const Value& b);
// Throws for values without an order between them.
bool less(Machine& m, const Value& a, const Value& b);
// needle in haystack
bool contains(Machine& m, const Value& haystack, const Value& needle);
// Texts in lower case, everything else as it is: the key of filters that ignore case.
Value ignore_case(Machine& m, const Value& value);

}  // namespace takt::jinja
