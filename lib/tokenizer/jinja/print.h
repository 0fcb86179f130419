// Values as text: Python's str and repr, HTML escapes, and json.dumps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

// Bounded appending: a text that outgrows the render's limit is an error before it takes the memory.
class Sink {
public:
    explicit Sink(Machine& m) : m_(m) {}
    void add(std::string_view piece);
    std::string take() { return std::move(out_); }
    Machine& machine() { return m_; }
    size_t size() const { return out_.size(); }

private:
    Machine& m_;
    std::string out_;
};

// As {{ value }} prints it.
void print(Sink& sink, const Value& value);
std::string to_str(Machine& m, const Value& value);
std::string to_repr(Machine& m, const Value& value);
// The text itself, or str of another value.
Value to_text(Machine& m, const Value& value);

std::string int_repr(Int value);
std::string float_repr(double value);
std::string escape_html(std::string_view text);

struct JsonStyle {
    bool ensure_ascii = false;
    bool sort_keys = false;
    std::optional<std::string> indent;  // one level of it; none: everything on one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
};
std::string to_json(Machine& m, const Value& value, const JsonStyle& style);

}  // namespace takt::jinja
