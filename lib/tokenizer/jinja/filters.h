// The tables of filters and tests.
#pragma once

#include <span>
#include <string_view>

#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

using FilterFunction = Value (*)(Machine&, const Value& input, const Args&);
using TestFunction = bool (*)(Machine&, const Value& input, const Args&);

struct FilterEntry {
    std::string_view name;
    FilterFunction function;
};

// Null: there is none of this name.
FilterFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);

// The parts of the table, each in its own file.
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> selection_filters();
std::span<const FilterEntry> number_filters();

}  // namespace takt::jinja
