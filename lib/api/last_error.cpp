// One string per thread, made on the first failure.
#include "api/last_error.h"

#include <string>

#include "base/utf8.h"

namespace takt::api {
namespace {

// Beyond it the middle is left out.
constexpr size_t kMostBytes = 1024;

struct Sentence {
    std::string text;
    bool lost = false;  // there was no memory to keep it
};

Sentence& sentence() noexcept {
    thread_local Sentence kept;
    return kept;
}

// A sentence may hold what a caller or a file gave: of any length, any bytes.
std::string readable(std::string_view text) {
    std::string out = valid_utf8(text);
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    return out;
}

std::string shortened(std::string_view text) {
    if (text.size() <= kMostBytes) return readable(text);
    return readable(text.substr(0, kMostBytes / 2)) + " … " +
           readable(text.substr(text.size() - kMostBytes / 2));
}

}  // namespace

void set_last_error(std::string_view text) noexcept {
    Sentence& kept = sentence();
    try {
        kept.text = shortened(text);
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
