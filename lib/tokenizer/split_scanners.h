// One expression of a split rule each: the end of what it matches at a position, or that position.
#pragma once

#include <cstddef>
#include <string_view>

#include "tokenizer/char_class.h"

namespace takt {

// part must be valid UTF-8 and is all that an expression sees: what lies around it belongs to other pieces.
using Scanner = size_t (*)(std::string_view part, size_t pos);

size_t scan_gpt2(std::string_view part, size_t pos);
size_t scan_qwen2(std::string_view part, size_t pos);
size_t scan_llama3(std::string_view part, size_t pos);
size_t scan_qwen35(std::string_view part, size_t pos);
size_t scan_gpt4o(std::string_view part, size_t pos);
size_t scan_tekken(std::string_view part, size_t pos);
size_t scan_deepseek3(std::string_view part, size_t pos);

size_t scan_number(std::string_view part, size_t pos);              // N
size_t scan_three_numbers(std::string_view part, size_t pos);       // N{1,3}
size_t scan_line_break(std::string_view part, size_t pos);          // [\r\n]
size_t scan_spaced_letters(std::string_view part, size_t pos);      // S?L+
size_t scan_spaced_punctuation(std::string_view part, size_t pos);  // S?P+
// The ranges that DeepSeek's first tokenizers spell out.
size_t scan_spaced_cased_letters(std::string_view part, size_t pos);
size_t scan_spaced_marks_of_writing(std::string_view part, size_t pos);
size_t scan_east_asian(std::string_view part, size_t pos);    // [U+0800-U+9FA5 U+AC00-U+D7FF]+
size_t scan_han_and_kana(std::string_view part, size_t pos);  // [U+4E00-U+9FA5 U+3040-U+30FF]+

size_t run_end(std::string_view part, size_t pos, CharSet set);

}  // namespace takt
