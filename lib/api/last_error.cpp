// One string per thread, made on the first failure.
#include "api/last_error.h"

#include <string>

namespace takt::api {
namespace {

struct Sentence {
    std::string text;
    bool lost = false;  // there was no memory to keep it
};

Sentence& sentence() noexcept {
    thread_local Sentence kept;
    return kept;
}

}  // namespace

void set_last_error(std::string_view text) noexcept {
    Sentence& kept = sentence();
    try {
        kept.text.assign(text);
        kept.lost = false;
    } catch (...) {
        kept.lost = true;
    }
}

const char* last_error() noexcept {
    const Sentence& kept = sentence();
    return kept.lost ? "The call failed, and there was no memory to keep its sentence." : kept.text.c_str();
}

}  // namespace takt::api
