// The one exception of the template interpreter; it never leaves ChatTemplate::parse or render.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace takt::jinja {

constexpr size_t kNoOffset = static_cast<size_t>(-1);

struct Error {
    std::string message;        // a sentence without its full stop, without the place
    size_t offset = kNoOffset;  // byte of the source; kNoOffset: where the machine stands
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw Error{fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
[[noreturn]] void fail_at(size_t offset, fmt::format_string<Args...> format, Args&&... args) {
    throw Error{fmt::format(format, std::forward<Args>(args)...), offset};
}

}  // namespace takt::jinja
