// Names to rules, and rules to expressions that split one behind the other.
#include "tokenizer/pre_tokenizer.h"

#include <array>
#include <initializer_list>

#include "tokenizer/split_scanners.h"

namespace takt {
namespace {

bool is_fallback_punctuation(const Char& c) {
    constexpr std::string_view kSigns = "$+<=>^~|";
    if (c.is(kPunctuation)) return true;
    return c.is(kSymbol) && c.code_point < 0x80 &&
           kSigns.find(static_cast<char>(c.code_point)) != std::string_view::npos;
}

size_t scan_fallback_punctuation(std::string_view part, size_t pos) {
    for (Char c = char_at(part, pos); is_fallback_punctuation(c); c = char_at(part, pos)) pos += c.size;
    return pos;
}

size_t scan_numbers(std::string_view part, size_t pos) {
    return run_end(part, pos, kNumber);
}

size_t scan_three_digits(std::string_view part, size_t pos) {
    for (size_t i = pos; i < pos + 3; ++i) {
        if (i >= part.size() || part[i] < '0' || part[i] > '9') return pos;
    }
    return pos + 3;
}

// S+$: what a piece ends with.
size_t trailing_space_begin(std::string_view part) {
    size_t begin = part.size();
    for (size_t pos = 0; pos < part.size();) {
        const Char c = char_at(part, pos);
        if (!c.is(kSpace)) {
            begin = part.size();
        } else if (begin == part.size()) {
            begin = pos;
        }
        pos += c.size;
    }
    return begin;
}

class Pieces {
public:
    Pieces(std::string_view text, std::vector<uint32_t>& ends) : text_(text), ends_(ends) {
        if (!text.empty()) ends_.push_back(static_cast<uint32_t>(text.size()));
    }

    void split(std::initializer_list<Scanner> scanners) {
        for (const Scanner scan : scanners) {
            each_piece([&](std::string_view part, size_t begin) {
                size_t kept = 0;  // from here on nothing matched yet
                for (size_t pos = 0; pos < part.size();) {
                    const size_t end = scan(part, pos);
                    if (end == pos) {
                        pos += char_at(part, pos).size;
                        continue;
                    }
                    if (kept < pos) end_at(begin + pos);
                    end_at(begin + end);
                    pos = kept = end;
                }
                if (kept < part.size()) end_at(begin + part.size());
            });
        }
    }

    void split_trailing_space() {
        each_piece([&](std::string_view part, size_t begin) {
            const size_t space = trailing_space_begin(part);
            if (space > 0 && space < part.size()) end_at(begin + space);
            end_at(begin + part.size());
        });
    }

private:
    template <typename Split>
    void each_piece(Split split_piece) {
        before_.swap(ends_);
        ends_.clear();
        size_t begin = 0;
        for (const uint32_t end : before_) {
            split_piece(text_.substr(begin, end - begin), begin);
            begin = end;
        }
    }

    void end_at(size_t pos) { ends_.push_back(static_cast<uint32_t>(pos)); }

    std::string_view text_;
    std::vector<uint32_t>& ends_;
    std::vector<uint32_t> before_;
};

// Name, rule, composes (NFC), whole pieces first, adds BOS. The names of the usual converter, where the
// model's own tokenizer is known to have the rule.
constexpr std::array kPreTokenizers = {
    PreTokenizer{"codeshell", SplitRule::smollm, false, false, false},
    PreTokenizer{"command-r", SplitRule::smollm, true, false, false},
    PreTokenizer{"dbrx", SplitRule::llama3, false, false, false},
    PreTokenizer{"deepseek-coder", SplitRule::deepseek_coder, false, false, false},
    PreTokenizer{"deepseek-llm", SplitRule::deepseek_llm, false, false, false},
    PreTokenizer{"deepseek-r1-qwen", SplitRule::qwen2, true, false, false},
    PreTokenizer{"deepseek-v3", SplitRule::deepseek3, false, false, false},
    PreTokenizer{"default", SplitRule::fallback, false, false, false},
    PreTokenizer{"falcon3", SplitRule::llama3, false, true, true},
    PreTokenizer{"gpt-2", SplitRule::gpt2, false, false, false},
    PreTokenizer{"gpt-4o", SplitRule::gpt4o, false, true, false},
    PreTokenizer{"gpt2", SplitRule::gpt2, false, false, false},
    PreTokenizer{"granite", SplitRule::smollm, false, false, false},
    PreTokenizer{"hunyuan-dense", SplitRule::deepseek3, false, false, false},
    PreTokenizer{"lfm2", SplitRule::llama3, false, true, true},
    PreTokenizer{"llama-bpe", SplitRule::llama3, false, true, true},
    PreTokenizer{"llama-v3", SplitRule::llama3, false, true, true},
    PreTokenizer{"llama3", SplitRule::llama3, false, true, true},
    PreTokenizer{"llama4", SplitRule::gpt4o, false, true, false},
    PreTokenizer{"megrez", SplitRule::qwen2, true, false, false},
    PreTokenizer{"modern-bert", SplitRule::gpt2, true, false, false},
    PreTokenizer{"mpt", SplitRule::gpt2, true, false, false},
    PreTokenizer{"olmo", SplitRule::gpt2, true, false, false},
    PreTokenizer{"phi-2", SplitRule::gpt2, false, false, false},
    PreTokenizer{"pixtral", SplitRule::llama3, false, true, true},
    PreTokenizer{"qwen2", SplitRule::qwen2, true, false, false},
    PreTokenizer{"qwen35", SplitRule::qwen35, true, false, false},
    PreTokenizer{"refact", SplitRule::smollm, false, false, false},
    PreTokenizer{"smaug-bpe", SplitRule::llama3, false, true, true},
    PreTokenizer{"smollm", SplitRule::smollm, false, false, false},
    PreTokenizer{"stablelm2", SplitRule::qwen2, true, false, false},
    PreTokenizer{"starcoder", SplitRule::smollm, false, false, false},
    PreTokenizer{"tekken", SplitRule::tekken, false, true, true},
};

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
    for (const PreTokenizer& known : kPreTokenizers) {
        if (known.name == name) return known;
    }
    return std::nullopt;
}

std::string pre_tokenizer_names() {
    std::string names;
    for (const PreTokenizer& known : kPreTokenizers) {
        if (!names.empty()) names += ", ";
        names += known.name;
    }
    return names;
}

void split_pieces(SplitRule rule, std::string_view text, std::vector<uint32_t>& piece_ends) {
    piece_ends.clear();
    Pieces pieces(text, piece_ends);
    switch (rule) {
        case SplitRule::gpt2:
            return pieces.split({scan_gpt2});
        case SplitRule::smollm:
            return pieces.split({scan_number, scan_gpt2});
        case SplitRule::qwen2:
            return pieces.split({scan_qwen2});
        case SplitRule::llama3:
            return pieces.split({scan_llama3});
        case SplitRule::qwen35:
            return pieces.split({scan_qwen35});
        case SplitRule::gpt4o:
            return pieces.split({scan_gpt4o});
        case SplitRule::tekken:
            return pieces.split({scan_tekken});
        case SplitRule::deepseek3:
            return pieces.split({scan_three_numbers, scan_han_and_kana, scan_deepseek3});
        case SplitRule::deepseek_llm:
            pieces.split({scan_line_break, scan_spaced_cased_letters, scan_spaced_marks_of_writing});
            pieces.split_trailing_space();
            return pieces.split({scan_east_asian, scan_number});
        case SplitRule::deepseek_coder:
            return pieces.split({scan_line_break, scan_spaced_letters, scan_spaced_punctuation,
                                 scan_east_asian, scan_number});
        case SplitRule::fallback:
            return pieces.split({scan_fallback_punctuation, scan_gpt2, scan_numbers, scan_three_digits});
    }
}

}  // namespace takt
