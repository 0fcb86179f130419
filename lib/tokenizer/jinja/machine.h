// What a render has to spend (steps, depth, stack, bytes) and the only ways to make texts, lists and dicts
// with it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/chat_template.h"
#include "tokenizer/jinja/error.h"
#include "tokenizer/jinja/value.h"

namespace takt::jinja {

// The nesting of parser and evaluator may use this much stack, so that both run on a thread with 128 KiB.
// Sanitizers blow frames up; their runs need larger stacks anyway.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStackBytes = 1024 * 1024;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr size_t kStackBytes = 1024 * 1024;
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif

// Counts nesting and measures the stack since its own making.
class DepthGuard {
public:
    explicit DepthGuard(uint32_t limit) : limit_(limit), base_(here()) {}

    void enter() {
        if (depth_ >= limit_) fail("nesting passes the limit of {} levels", limit_);
        const size_t used = base_ > here() ? base_ - here() : here() - base_;
        if (used > kStackBytes) fail("nesting passes the limit of {} KiB of stack", kStackBytes / 1024);
        ++depth_;
    }
    void leave() { --depth_; }

private:
    static uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }
    uint32_t limit_;
    uint32_t depth_ = 0;
    uintptr_t base_;
};

class Nest {
public:
    explicit Nest(DepthGuard& guard) : guard_(guard) { guard_.enter(); }
    ~Nest() { guard_.leave(); }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

private:
    DepthGuard& guard_;
};

// Arguments of a call, evaluated.
struct Args {
    Values positional;
    std::vector<std::pair<std::string, Value>> named;
};

class Machine {
public:
    Machine(const ChatTemplateLimits& bounds, int64_t now)
        : limits(bounds), now_unix_seconds(now), depth(bounds.max_depth) {}
    virtual ~Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // One step per evaluated node, item touched or 256 bytes copied.
    void step(uint64_t n = 1) {
        steps_ += n;
        if (steps_ > limits.max_steps) fail("work passes the limit of {} steps", limits.max_steps);
    }
    // Before n bytes are copied into one text.
    void take_bytes(size_t n) {
        if (n > limits.max_output_bytes) {
            fail("a text of {} bytes passes the limit of {} bytes", n, limits.max_output_bytes);
        }
        step(1 + n / 256);
    }

    Value text(std::string bytes, bool safe = false);
    Value list(Values items, Flavour flavour = Flavour::list);
    Value dict(std::shared_ptr<Dict> dict);
    Value undefined(std::string why);
    // Objects live until the render ends, so that cycles through namespaces and macros can't leak.
    template <typename T>
    T& keep(std::unique_ptr<T> object) {
        T& kept = *object;
        objects_.push_back(std::move(object));
        return kept;
    }
    static Value borrowed(Object& object) {
        return Value(std::shared_ptr<Object>(std::shared_ptr<void>(), &object));
    }

    virtual Value call(const Value& callee, const Args& args) = 0;

    const ChatTemplateLimits& limits;
    const int64_t now_unix_seconds;
    DepthGuard depth;
    size_t offset = 0;  // byte of the source that is being evaluated, for error messages

private:
    uint64_t steps_ = 0;
    std::vector<std::unique_ptr<Object>> objects_;
};

// Arguments laid out as a Python signature says; an argument that isn't there is null.
class Bound {
public:
    Bound(const Args& args, std::string_view function, std::initializer_list<std::string_view> names,
          size_t required = 0);
    const Value* operator[](size_t i) const { return values_[i]; }
    const Value& at(size_t i) const { return *values_[i]; }  // a required one
    bool given(size_t i) const { return values_[i] != nullptr; }
    // The argument, or the default where it wasn't given.
    bool truth(size_t i, bool otherwise) const;
    Int integer(size_t i, Int otherwise) const;
    std::string_view text(size_t i, std::string_view otherwise) const;

private:
    static constexpr size_t kMaximum = 6;
    const Value* values_[kMaximum] = {};
    std::string_view function_;
};

// Throws what Python says when an undefined value is used.
[[noreturn]] void fail_undefined(const Value& value);
// The items that a loop over the value sees. Takes them out of a generator.
Values iterate(Machine& m, const Value& value);
size_t length(const Value& value);

}  // namespace takt::jinja
