// A template's source as tokens, with the white space rules of chat templates (trim_blocks, lstrip_blocks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace takt::jinja {

enum class TokenKind : uint8_t {
    data,            // text to print, already stripped
    variable_begin,  // {{
    variable_end,    // }}
    block_begin,     // {%
    block_end,       // %}
    name,
    string,  // with its quotes
    integer,
    floating,
    symbol,  // operators and brackets
    end,
};

struct Token {
    TokenKind kind;
    std::string_view text;  // inside the source
    size_t offset;
};

// Line ends become \n and the last one goes, as Jinja2 does before anything else.
std::string normalize_source(std::string_view source);
// The source must be normalized, valid UTF-8 and outlive the tokens. Throws Error with an offset.
std::vector<Token> tokenize(std::string_view source);
// What a string token with its quotes means.
std::string unescape(const Token& token);

struct LineColumn {
    size_t line;    // from 1
    size_t column;  // from 1, in characters
};
LineColumn line_column(std::string_view source, size_t offset);

}  // namespace takt::jinja
