// Python's two ways to fill a text: 'a %s' % x and 'a {}'.format(x).
#pragma once

#include <optional>

#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

// The mini language of format(): [[fill]align][sign][#][0][width][,][.precision][type]
struct FormatSpec {
    std::string fill = " ";
    char align = 0;  // < > ^ =; 0: as the type wants it
    char sign = '-';
    bool alternate = false;
    char grouping = 0;
    size_t width = 0;
    std::optional<int> precision;
    char type = 0;
};

std::string format_number(Machine& m, const FormatSpec& spec, const Value& value);
std::string pad(Machine& m, const FormatSpec& spec, std::string_view text, char default_align);

Value format_percent(Machine& m, const Value& format, const Value& arguments);
Value format_braces(Machine& m, const Value& format, const Args& args);

}  // namespace takt::jinja
