// The lexer: text and tags outside, names, numbers, strings and operators inside.
#include "tokenizer/jinja/lexer.h"

#include <algorithm>

#include "tokenizer/jinja/error.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

class Lexer {
public:
    explicit Lexer(std::string_view source) : source_(source) {}

    std::vector<Token> run() {
        while (pos_ < source_.size()) outside();
        push(TokenKind::end, source_.size(), 0);
        return std::move(tokens_);
    }

private:
    char at(size_t pos) const { return pos < source_.size() ? source_[pos] : '\0'; }
    bool has(size_t pos, std::string_view text) const {
        return source_.substr(std::min(pos, source_.size())).starts_with(text);
    }
    void push(TokenKind kind, size_t offset, size_t size) {
        tokens_.push_back({kind, source_.substr(offset, size), offset});
    }

    size_t skip_space(size_t pos) const {
        while (pos < source_.size()) {
            const Utf8Step c = char_at(source_, pos);
            if (!is_space(c.code_point)) break;
            pos += c.size;
        }
        return pos;
    }

    // Everything up to the next tag, and the tag.
    void outside() {
        size_t open = pos_;
        while (open < source_.size() &&
               !(source_[open] == '{' && std::string_view("{%#").find(at(open + 1)) < 3))
            ++open;
        const size_t begin = std::exchange(pos_, open);
        if (open == source_.size()) {
            push(TokenKind::data, begin, open - begin);
            return;
        }
        const char kind = at(open + 1);
        const char sign = at(open + 2);
        data(begin, open, sign, kind != '{');
        pos_ = open + 2 + (sign == '-' || sign == '+');
        if (kind == '#') return comment(open);
        if (kind == '%' && raw(open)) return;
        push(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, open, 2);
        inside(open, kind == '{' ? TokenKind::variable_end : TokenKind::block_end);
    }

    // The text before a tag: '-' strips it, a block alone on its line takes the line's indentation with it.
    void data(size_t begin, size_t end, char sign, bool block) {
        std::string_view text = source_.substr(begin, end - begin);
        if (sign == '-') {
            text = strip(text, Side::right);
        } else if (sign != '+' && block) {
            const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
            const bool starts_line = line > 0 || begin == 0 || source_[begin - 1] == '\n';
            if (starts_line && strip(text.substr(line)).empty()) text = text.substr(0, line);
        }
        if (!text.empty()) push(TokenKind::data, begin, text.size());
    }

    // Behind a closing tag: '-' takes all white space, a block's end one line end, '+' keeps it.
    void after_tag(char sign, bool block) {
        if (sign == '-') {
            pos_ = skip_space(pos_);
        } else if (block && sign != '+' && at(pos_) == '\n') {
            ++pos_;
        }
    }

    void comment(size_t open) {
        const size_t close = source_.find("#}", pos_);
        if (close == std::string_view::npos) fail_at(open, "unclosed comment: expected '#}}'");
        const char sign = close > pos_ ? source_[close - 1] : '\0';
        pos_ = close + 2;
        after_tag(sign, true);
    }

    // {% raw %} … {% endraw %}; false if the block is another one.
    bool raw(size_t open) {
        size_t pos = skip_space(pos_);
        if (!has(pos, "raw")) return false;
        pos = skip_space(pos + 3);
        const bool strips = has(pos, "-%}");
        if (!strips && !has(pos, "%}")) return false;
        const size_t begin = strips ? skip_space(pos + 3) : pos + 2;
        for (size_t tag = source_.find("{%", begin); tag != std::string_view::npos;
             tag = source_.find("{%", tag + 2)) {
            const char sign = at(tag + 2);
            size_t p = skip_space(tag + 2 + (sign == '-' || sign == '+'));
            if (!has(p, "endraw")) continue;
            p = skip_space(p + 6);
            const char end_sign = at(p) == '-' || at(p) == '+' ? at(p) : '\0';
            if (end_sign) ++p;
            if (!has(p, "%}")) continue;
            data(begin, tag, sign, true);
            pos_ = p + 2;
            after_tag(end_sign, true);
            return true;
        }
        fail_at(open, "unclosed raw block: expected 'endraw'");
    }

    // Tokens up to the tag's end.
    void inside(size_t open, TokenKind end_kind) {
        const bool block = end_kind == TokenKind::block_end;
        const std::string_view close = block ? "%}" : "}}";
        while (true) {
            pos_ = skip_space(pos_);
            if (pos_ >= source_.size()) {
                fail_at(open, "unclosed tag: expected '{}' before the end of the template", close);
            }
            const char sign = at(pos_);
            const bool signed_end = (sign == '-' || (sign == '+' && block)) && has(pos_ + 1, close);
            if (brackets_.empty() && (signed_end || has(pos_, close))) {
                push(end_kind, pos_, 2);
                pos_ += signed_end ? 3 : 2;
                return after_tag(signed_end ? sign : '\0', block);
            }
            token();
        }
    }

    void token() {
        const char c = source_[pos_];
        if (c >= '0' && c <= '9') return number();
        if (c == '\'' || c == '"') return string(c);
        const Utf8Step step = char_at(source_, pos_);
        if (is_word(step.code_point)) return name();
        symbol();
    }

    void name() {
        size_t end = pos_;
        while (end < source_.size() && is_word(char_at(source_, end).code_point))
            end += char_at(source_, end).size;
        push(TokenKind::name, pos_, end - pos_);
        pos_ = end;
    }

    void string(char quote) {
        size_t end = pos_ + 1;
        while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
        if (end >= source_.size()) fail_at(pos_, "unclosed string: expected {}", quote);
        push(TokenKind::string, pos_, end + 1 - pos_);
        pos_ = end + 1;
    }

    static bool digit(char c, int base) {
        if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f') return true;
        return c >= '0' && c < '0' + std::min(base, 10);
    }

    // Digits with single underscores between them; pos itself if there are none.
    size_t skip_digits(size_t pos, int base) const {
        if (!digit(at(pos), base)) return pos;
        while (digit(at(pos), base) || (at(pos) == '_' && digit(at(pos + 1), base))) ++pos;
        return pos;
    }

    void number() {
        const bool after_point = pos_ > 0 && source_[pos_ - 1] == '.';  // a.0.1 is two items, no float
        size_t end = skip_digits(pos_, 10);
        size_t fraction = end;
        if (at(end) == '.' && skip_digits(end + 1, 10) > end + 1) fraction = skip_digits(end + 1, 10);
        size_t exponent = fraction;
        if ((at(fraction) | 0x20) == 'e') {
            const size_t digits = fraction + 1 + (at(fraction + 1) == '+' || at(fraction + 1) == '-');
            if (skip_digits(digits, 10) > digits) exponent = skip_digits(digits, 10);
        }
        TokenKind kind = TokenKind::integer;
        if (!after_point && exponent > end) {
            kind = TokenKind::floating;
            end = exponent;
        } else if (source_[pos_] == '0') {
            const char letter = static_cast<char>(at(pos_ + 1) | 0x20);
            const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
            const size_t digits = pos_ + 2 + (at(pos_ + 2) == '_');
            if (base && skip_digits(digits, base) > digits) {
                end = skip_digits(digits, base);
            } else {
                end = pos_ + 1;
                while (at(end) == '0' || (at(end) == '_' && at(end + 1) == '0')) ++end;
            }
        }
        push(kind, pos_, end - pos_);
        pos_ = end;
    }

    void symbol() {
        static constexpr std::string_view kDouble[] = {"//", "**", "==", "!=", ">=", "<="};
        static constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
        size_t size = 0;
        for (const std::string_view two : kDouble) {
            if (has(pos_, two)) size = 2;
        }
        const char c = source_[pos_];
        if (size == 0 && kSingle.find(c) != std::string_view::npos) size = 1;
        if (size == 0)
            fail_at(pos_, "unexpected character '{}'", source_.substr(pos_, char_at(source_, pos_).size));
        if (c == '(') brackets_ += ')';
        if (c == '[') brackets_ += ']';
        if (c == '{') brackets_ += '}';
        if (c == ')' || c == ']' || c == '}') {
            if (brackets_.empty()) fail_at(pos_, "unexpected '{}'", c);
            if (brackets_.back() != c) fail_at(pos_, "unexpected '{}', expected '{}'", c, brackets_.back());
            brackets_.pop_back();
        }
        push(TokenKind::symbol, pos_, size);
        pos_ += size;
    }

    std::string_view source_;
    size_t pos_ = 0;
    std::string brackets_;  // closing ones still wanted; while there are any, }} and %} end nothing
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
    return Lexer(source).run();
}

}  // namespace takt::jinja
