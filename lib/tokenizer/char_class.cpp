// Classes by utf8proc's categories; whitespace is what regular expressions take it for.
#include "tokenizer/char_class.h"

#include <utf8proc.h>

#include <array>

#include "base/utf8.h"

namespace takt {
namespace {

bool is_space(uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

CharSet classify(uint32_t code_point) {
    if (is_space(code_point)) return kSpace;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LT:
            return kUpper;
        case UTF8PROC_CATEGORY_LL:
            return kLower;
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
            return kCaseless;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
            return kMark;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
            return kNumber;
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO:
            return kPunctuation;
        case UTF8PROC_CATEGORY_SM:
        case UTF8PROC_CATEGORY_SC:
        case UTF8PROC_CATEGORY_SK:
        case UTF8PROC_CATEGORY_SO:
            return kSymbol;
        default:
            return kOther;
    }
}

constexpr std::array<CharSet, 128> kAscii = [] {
    std::array<CharSet, 128> classes{};
    for (uint32_t c = 0; c < 128; ++c) {
        CharSet set = kPunctuation;
        if (c < 0x20 || c == 0x7F) set = kOther;
        if (c == ' ' || (c >= 0x09 && c <= 0x0D)) set = kSpace;
        if (c >= '0' && c <= '9') set = kNumber;
        if (c >= 'A' && c <= 'Z') set = kUpper;
        if (c >= 'a' && c <= 'z') set = kLower;
        if (std::string_view("$+<=>^`|~").find(static_cast<char>(c)) != std::string_view::npos) set = kSymbol;
        classes[c] = set;
    }
    return classes;
}();

}  // namespace

Char char_at(std::string_view text, size_t pos) {
    if (pos >= text.size()) return {0, 0, 0};
    const auto byte = static_cast<uint8_t>(text[pos]);
    if (byte < 0x80) return {byte, 1, kAscii[byte]};
    const Utf8Step step = utf8_step(text, pos);
    return {step.code_point, step.size, classify(step.code_point)};
}

}  // namespace takt
