// JSON text written from front to back. Unlike a tree of values it needs memory for its text alone, and
// running out of that is an exception like any other.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt {

// One value: calls of an object or array come between its begin and end, each member's key before its value.
class JsonWriter {
public:
    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    // Of an object's next member.
    void key(std::string_view name);

    void null() { raw("null"); }
    // Text that is JSON already.
    void json(std::string_view text) { raw(text); }
    void value(bool v) { raw(v ? "true" : "false"); }
    // What isn't UTF-8 becomes U+FFFD.
    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(const std::string& text) { value(std::string_view(text)); }
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    void value(T v) {
        number(static_cast<uint64_t>(v));
    }
    template <std::signed_integral T>
    void value(T v) {
        number(static_cast<int64_t>(v));
    }
    void value(double v);  // null unless finite
    template <typename T>
    void value(const std::optional<T>& v) {
        v ? value(*v) : null();
    }
    template <typename T>
    void member(std::string_view name, const T& v) {
        key(name);
        value(v);
    }

    std::string take() { return std::move(text_); }

private:
    void open(char bracket);
    void close(char bracket);
    void separate();
    void raw(std::string_view text);
    void number(uint64_t v);
    void number(int64_t v);
    void append_string(std::string_view text);

    std::string text_;
    bool first_ = true;  // nothing stands yet in the innermost container
};

}  // namespace takt
