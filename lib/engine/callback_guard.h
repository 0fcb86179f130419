// Whether the calling thread is inside a callback: calls that wait are refused there, and a destroy is
// deferred.
#pragma once

#include <exception>
#include <string>

namespace takt {

// The callbacks of one engine.
class CallbackThreads {
public:
    // Also true inside a callback that holds up every engine: progress of a load, a line of the log.
    bool contains_this_thread() const {
        for (const Scope* scope = innermost_; scope != nullptr; scope = scope->outer_) {
            if (scope->threads_ == this || scope->threads_ == nullptr) return true;
        }
        return false;
    }
    static bool holds_up_every_engine() {
        for (const Scope* scope = innermost_; scope != nullptr; scope = scope->outer_) {
            if (scope->threads_ == nullptr) return true;
        }
        return false;
    }

    // Marks the calling thread for the length of one callback; nullptr: one that holds up every engine.
    class Scope {
    public:
        explicit Scope(const CallbackThreads* threads) : threads_(threads), outer_(innermost_) {
            innermost_ = this;
        }
        ~Scope() { innermost_ = outer_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        friend class CallbackThreads;
        const CallbackThreads* const threads_;
        const Scope* const outer_;
    };

private:
    static inline thread_local const Scope* innermost_ = nullptr;
};

// Inside a catch block of a callback's exception: what it says.
inline std::string what_was_thrown() {
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

}  // namespace takt
