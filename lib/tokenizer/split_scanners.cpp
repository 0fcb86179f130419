// The expressions most models share, by hand: each looks at a character at most a fixed number of times.
#include "tokenizer/split_scanners.h"

namespace takt {
namespace {

constexpr CharSet kNeitherSpaceNorWord = kMark | kPunctuation | kSymbol | kOther;

// Bytes of 's 't 're 've 'm 'll 'd at pos, 0 if there is none.
size_t contraction_size(std::string_view text, size_t pos, bool ignore_case) {
    if (pos >= text.size() || text[pos] != '\'') return 0;
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
    for (Char c = char_at(text, end); c.is(kSpace); c = char_at(text, end)) {
        last = end;
        end += c.size;
    }
    return end == text.size() || last == pos ? end : last;
}

// Through the last line break of the whitespace at pos, or pos if there is none.
size_t line_break_end(std::string_view text, size_t pos) {
    size_t last = pos;
    for (Char c = char_at(text, pos); c.is(kSpace); c = char_at(text, pos)) {
        pos += c.size;
        if (c.is_line_break()) last = pos;
    }
    return last;
}

size_t spaces_end(std::string_view text, size_t pos) {
    const size_t end = line_break_end(text, pos);
    return end > pos ? end : whitespace_end(text, pos);
}

size_t numbers_end(std::string_view text, size_t pos, int most) {
    for (int i = 0; i < most; ++i) {
        const Char c = char_at(text, pos);
        if (!c.is(kNumber)) break;
        pos += c.size;
    }
    return pos;
}

//  ?[set]+[tail]*, or pos.
size_t spaced_run_end(std::string_view text, size_t pos, CharSet set, std::string_view tail) {
    const size_t begin = text[pos] == ' ' ? pos + 1 : pos;
    size_t end = run_end(text, begin, set);
    if (end == begin) return pos;
    while (end < text.size() && tail.find(text[end]) != std::string_view::npos) ++end;
    return end;
}

// What qwen2, llama3 and qwen35 do; with_marks: marks are letters.
size_t scan_words(std::string_view text, size_t pos, int most_numbers, bool with_marks) {
    if (const size_t size = contraction_size(text, pos, true)) return pos + size;
    const CharSet word = with_marks ? kLetter | kMark : kLetter;
    const Char c = char_at(text, pos);
    if (c.is(word)) return run_end(text, pos, word);
    if (c.is(kNumber)) return numbers_end(text, pos, most_numbers);
    if (!c.is_line_break() && char_at(text, pos + c.size).is(word)) return run_end(text, pos + c.size, word);
    const CharSet rest = static_cast<CharSet>(kNeitherSpaceNorWord & ~word);
    if (const size_t end = spaced_run_end(text, pos, rest, "\r\n"); end > pos) return end;
    return spaces_end(text, pos);
}

constexpr CharSet kUpperSide = kUpper | kCaseless | kMark;
constexpr CharSet kLowerSide = kLower | kCaseless | kMark;

// [upper side]*[lower side]+ from pos, or pos. The first run gives back as little as lets the second begin.
size_t mixed_word_end(std::string_view text, size_t pos) {
    size_t end = pos;
    size_t behind_both = pos;  // behind the last character that is on both sides
    for (Char c = char_at(text, end); c.is(kUpperSide); c = char_at(text, end)) {
        end += c.size;
        if (c.is(kCaseless | kMark)) behind_both = end;
    }
    if (char_at(text, end).is(kLower)) return run_end(text, end, kLowerSide);
    return behind_both;
}

// The words of gpt-4o and tekken: capitals begin a new one. 0: none begins here.
size_t cased_word_end(std::string_view text, size_t pos) {
    const Char c = char_at(text, pos);
    const bool may_lead = !c.is(kLetter | kNumber) && !c.is_line_break();
    const size_t behind = pos + c.size;
    if (may_lead) {
        if (const size_t end = mixed_word_end(text, behind); end > behind) return end;
    }
    if (const size_t end = mixed_word_end(text, pos); end > pos) return end;
    if (may_lead) {
        if (const size_t end = run_end(text, behind, kUpperSide); end > behind) return end;
    }
    const size_t end = run_end(text, pos, kUpperSide);
    return end > pos ? end : 0;
}

size_t scan_cased(std::string_view text, size_t pos, int most_numbers, bool with_contractions) {
    if (const size_t end = cased_word_end(text, pos))
        return end + (with_contractions ? contraction_size(text, end, true) : 0);
    if (char_at(text, pos).is(kNumber)) return numbers_end(text, pos, most_numbers);
    if (const size_t end = spaced_run_end(text, pos, kNeitherSpaceNorWord, "\r\n/"); end > pos) return end;
    return spaces_end(text, pos);
}

bool is_ascii_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

size_t run_end(std::string_view part, size_t pos, CharSet set) {
    for (Char c = char_at(part, pos); c.is(set); c = char_at(part, pos)) pos += c.size;
    return pos;
}

size_t scan_gpt2(std::string_view part, size_t pos) {
    if (const size_t size = contraction_size(part, pos, false)) return pos + size;
    const Char c = char_at(part, pos);
    const size_t begin = c.code_point == ' ' ? pos + 1 : pos;
    for (const CharSet set : {kLetter, kNumber, kNeitherSpaceNorWord}) {
        if (char_at(part, begin).is(set)) return run_end(part, begin, set);
    }
    return whitespace_end(part, pos);
}

size_t scan_qwen2(std::string_view part, size_t pos) {
    return scan_words(part, pos, 1, false);
}
size_t scan_llama3(std::string_view part, size_t pos) {
    return scan_words(part, pos, 3, false);
}
size_t scan_qwen35(std::string_view part, size_t pos) {
    return scan_words(part, pos, 1, true);
}
size_t scan_gpt4o(std::string_view part, size_t pos) {
    return scan_cased(part, pos, 3, true);
}
size_t scan_tekken(std::string_view part, size_t pos) {
    return scan_cased(part, pos, 1, false);
}

size_t scan_deepseek3(std::string_view part, size_t pos) {
    const Char c = char_at(part, pos);
    constexpr CharSet kWord = kLetter | kMark;
    constexpr CharSet kSigns = kPunctuation | kSymbol;
    if (c.code_point < 0x80 && c.is(kSigns)) {
        size_t end = pos + 1;
        while (end < part.size() && is_ascii_letter(part[end])) ++end;
        if (end > pos + 1) return end;
    }
    if (!c.is(kLetter | kSigns) && !c.is_line_break() && char_at(part, pos + c.size).is(kWord))
        return run_end(part, pos + c.size, kWord);
    if (c.is(kWord)) return run_end(part, pos, kWord);
    if (const size_t end = spaced_run_end(part, pos, kSigns, "\r\n"); end > pos) return end;
    return spaces_end(part, pos);
}

size_t scan_number(std::string_view part, size_t pos) {
    return numbers_end(part, pos, 1);
}
size_t scan_three_numbers(std::string_view part, size_t pos) {
    return numbers_end(part, pos, 3);
}

}  // namespace takt
