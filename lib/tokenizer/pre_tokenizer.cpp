// The scanners behind split_pieces: each takes a position and gives the end of the piece that begins there.
#include "tokenizer/pre_tokenizer.h"

#include <utf8proc.h>

#include <array>

#include "base/utf8.h"

namespace takt {
namespace {

enum class CharClass : uint8_t { letter, number, space, other, end };

struct Char {
    uint32_t code_point;
    uint8_t size;
    CharClass cls;
};

bool is_space(uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

CharClass classify_any(uint32_t code_point) {
    if (is_space(code_point)) return CharClass::space;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
            return CharClass::letter;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
            return CharClass::number;
        default:
            return CharClass::other;
    }
}

CharClass classify(uint32_t c) {
    if (c >= 0x80) return classify_any(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return CharClass::letter;
    if (c >= '0' && c <= '9') return CharClass::number;
    return is_space(c) ? CharClass::space : CharClass::other;
}

Char char_at(std::string_view text, size_t pos) {
    if (pos >= text.size()) return {0, 0, CharClass::end};
    const Utf8Step step = utf8_step(text, pos);
    return {step.code_point, step.size, classify(step.code_point)};
}

size_t run_end(std::string_view text, size_t pos, CharClass cls) {
    for (Char c = char_at(text, pos); c.cls == cls; c = char_at(text, pos)) pos += c.size;
    return pos;
}

bool is_newline(uint32_t c) {
    return c == '\r' || c == '\n';
}

// Bytes of 's 't 're 've 'm 'll 'd at pos, 0 if there is none.
size_t contraction_size(std::string_view text, size_t pos, bool ignore_case) {
    if (text[pos] != '\'') return 0;
    const auto letter = [&](size_t i) {
        if (pos + i >= text.size()) return '\0';
        const char c = text[pos + i];
        return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = letter(1);
    const char second = letter(2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if ((first == 'r' || first == 'v') && second == 'e') return 3;
    if (first == 'l' && second == 'l') return 3;
    // Case folding makes the long s (U+017F) an s.
    if (ignore_case && text.substr(pos + 1, 2) == "\xC5\xBF") return 3;
    return 0;
}

// Whitespace that leaves its last character to the word behind it, if there is one.
size_t whitespace_end(std::string_view text, size_t pos) {
    size_t end = pos;
    size_t last = pos;
    for (Char c = char_at(text, end); c.cls == CharClass::space; c = char_at(text, end)) {
        last = end;
        end += c.size;
    }
    return end == text.size() || last == pos ? end : last;
}

size_t next_gpt2(std::string_view text, size_t pos) {
    if (const size_t size = contraction_size(text, pos, false)) return pos + size;
    const Char c = char_at(text, pos);
    if (c.cls != CharClass::space) return run_end(text, pos, c.cls);
    if (c.code_point == ' ') {
        const Char next = char_at(text, pos + 1);
        if (next.cls != CharClass::space && next.cls != CharClass::end)
            return run_end(text, pos + 1, next.cls);
    }
    return whitespace_end(text, pos);
}

// Through the last line break of the whitespace at pos, or pos if there is none.
size_t line_break_end(std::string_view text, size_t pos) {
    size_t last = pos;
    for (Char c = char_at(text, pos); c.cls == CharClass::space; c = char_at(text, pos)) {
        pos += c.size;
        if (is_newline(c.code_point)) last = pos;
    }
    return last;
}

size_t number_end(std::string_view text, size_t pos, int max_digits) {
    for (int i = 0; i < max_digits; ++i) {
        const Char c = char_at(text, pos);
        if (c.cls != CharClass::number) break;
        pos += c.size;
    }
    return pos;
}

size_t next_qwen2(std::string_view text, size_t pos, int max_digits) {
    if (const size_t size = contraction_size(text, pos, true)) return pos + size;
    const Char c = char_at(text, pos);
    if (c.cls == CharClass::letter) return run_end(text, pos, CharClass::letter);
    if (c.cls == CharClass::number) return number_end(text, pos, max_digits);
    const Char next = char_at(text, pos + c.size);
    if (!is_newline(c.code_point) && next.cls == CharClass::letter)
        return run_end(text, pos + c.size, CharClass::letter);
    const bool space_then_other = c.code_point == ' ' && next.cls == CharClass::other;
    if (c.cls == CharClass::other || space_then_other) {
        size_t end = run_end(text, pos + c.size, CharClass::other);
        while (end < text.size() && is_newline(static_cast<uint8_t>(text[end]))) ++end;
        return end;
    }
    if (const size_t end = line_break_end(text, pos); end > pos) return end;
    return whitespace_end(text, pos);
}

bool is_fallback_punctuation(const Char& c) {
    if (c.cls != CharClass::other) return false;
    if (c.code_point < 0x80 &&
        std::string_view("$+<=>^~|").find(static_cast<char>(c.code_point)) != std::string_view::npos)
        return true;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c.code_point))) {
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO:
            return true;
        default:
            return false;
    }
}

class Pieces {
public:
    Pieces(std::string_view text, std::vector<uint32_t>& ends) : text_(text), ends_(ends) {}

    void end_at(size_t pos) { ends_.push_back(static_cast<uint32_t>(pos)); }

    // Looking ahead stops at end: what lies behind it belongs to another piece already.
    void gpt2(size_t begin, size_t end) {
        const std::string_view part = text_.substr(begin, end - begin);
        for (size_t pos = 0; pos < part.size();) end_at(begin + (pos = next_gpt2(part, pos)));
    }

    void qwen2(int max_digits) {
        for (size_t pos = 0; pos < text_.size();) end_at(pos = next_qwen2(text_, pos, max_digits));
    }

    void smollm() {
        size_t begin = 0;
        for (size_t pos = 0; pos < text_.size();) {
            const Char c = char_at(text_, pos);
            if (c.cls == CharClass::number) {
                gpt2(begin, pos);
                begin = pos + c.size;
                end_at(begin);
            }
            pos += c.size;
        }
        gpt2(begin, text_.size());
    }

    void fallback() {
        size_t begin = 0;
        for (size_t pos = 0; pos < text_.size();) {
            size_t end = pos;
            for (Char c = char_at(text_, end); is_fallback_punctuation(c); c = char_at(text_, end))
                end += c.size;
            if (end > pos) {
                fallback_words(begin, pos);
                end_at(end);
                pos = begin = end;
            } else {
                pos += char_at(text_, pos).size;
            }
        }
        fallback_words(begin, text_.size());
    }

private:
    void fallback_words(size_t begin, size_t end) {
        const std::string_view part = text_.substr(begin, end - begin);
        for (size_t pos = 0; pos < part.size();) {
            const size_t piece_end = next_gpt2(part, pos);
            const size_t digits = pos + (part[pos] == ' ' && piece_end > pos + 1 ? 1 : 0);
            if (char_at(part, digits).cls == CharClass::number) {
                if (digits > pos) end_at(begin + digits);
                digits_in_threes(begin + digits, begin + piece_end);
            } else {
                end_at(begin + piece_end);
            }
            pos = piece_end;
        }
    }

    void digits_in_threes(size_t begin, size_t end) {
        size_t done = begin;
        int run = 0;
        for (size_t pos = begin; pos < end; ++pos) {
            run = text_[pos] >= '0' && text_[pos] <= '9' ? run + 1 : 0;
            if (run < 3) continue;
            if (pos - 2 > done) end_at(pos - 2);
            end_at(done = pos + 1);
            run = 0;
        }
        if (done < end) end_at(end);
    }

    std::string_view text_;
    std::vector<uint32_t>& ends_;
};

constexpr std::array kPreTokenizers = {
    PreTokenizer{"default", SplitRule::fallback, false, false, false},
    PreTokenizer{"gpt-2", SplitRule::gpt2, false, false, false},
    PreTokenizer{"gpt2", SplitRule::gpt2, false, false, false},
    PreTokenizer{"phi-2", SplitRule::gpt2, false, false, false},
    PreTokenizer{"smollm", SplitRule::smollm, false, false, false},
    PreTokenizer{"starcoder", SplitRule::smollm, false, false, false},
    PreTokenizer{"qwen2", SplitRule::qwen2, true, false, false},
    PreTokenizer{"deepseek-r1-qwen", SplitRule::qwen2, false, false, false},
    PreTokenizer{"llama-bpe", SplitRule::llama3, false, true, true},
    PreTokenizer{"llama3", SplitRule::llama3, false, true, true},
    PreTokenizer{"llama-v3", SplitRule::llama3, false, true, true},
    PreTokenizer{"falcon3", SplitRule::llama3, false, true, true},
    PreTokenizer{"lfm2", SplitRule::llama3, false, true, true},
};

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
    for (const PreTokenizer& known : kPreTokenizers) {
        if (known.name == name) return known;
    }
    return std::nullopt;
}

void split_pieces(SplitRule rule, std::string_view text, std::vector<uint32_t>& piece_ends) {
    piece_ends.clear();
    Pieces pieces(text, piece_ends);
    switch (rule) {
        case SplitRule::gpt2:
            return pieces.gpt2(0, text.size());
        case SplitRule::smollm:
            return pieces.smollm();
        case SplitRule::qwen2:
            return pieces.qwen2(1);
        case SplitRule::llama3:
            return pieces.qwen2(3);
        case SplitRule::fallback:
            return pieces.fallback();
    }
}

}  // namespace takt
