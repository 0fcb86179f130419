// Text to the pieces inside which merges happen. Hand-written scanners: linear time, flat stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

// The rules, as the expressions that the models' own tokenizers give (L letter, N number, P punctuation, S
// whitespace, M mark, Y symbol, U capital or titlecase, W small, X letter without case or mark); a comma: the
// next one works inside the pieces of those before, and what none matches stays a piece.
//   gpt2      's|'t|'re|'ve|'m|'ll|'d| ?L+| ?N+| ?[^SLN]+|S+(?!\S)|S+
//   smollm    N, gpt2
//   qwen2     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\nLN]?L+|N| ?[^SLN]+[\r\n]*|S*[\r\n]+|S+(?!\S)|S+
//   llama3    qwen2 with N{1,3}
//   qwen35    qwen2 whose words are [LM]+
//   gpt4o     [^\r\nLN]?[UX]*[WX]+(?i:'s|…)?|[^\r\nLN]?[UX]+[WX]*(?i:'s|…)?
//             |N{1,3}| ?[^SLN]+[\r\n/]*|S*[\r\n]+|S+(?!\S)|S+
//   tekken    gpt4o without contractions, every N alone
//   deepseek3 N{1,3}, [Han and kana]+,
//             [!-/:-@[-`{-~][A-Za-z]+|[^\r\nLPY]?[LM]+| ?[PY]+[\r\n]*|S*[\r\n]+|S+(?!\S)|S+
//   deepseek_llm    [\r\n], S?[cased letters]+, S?[!-/:-~ and full-width forms]+, S+$, [East Asian]+, N
//   deepseek_coder  [\r\n], S?L+, S?P+, [East Asian]+, N
//   fallback  runs of [P$+<=>^~|]; gpt2 between them; numbers without their space, ASCII digits in threes
enum class SplitRule : uint8_t {
    gpt2,
    smollm,
    qwen2,
    llama3,
    qwen35,
    gpt4o,
    tekken,
    deepseek3,
    deepseek_llm,
    deepseek_coder,
    fallback
};

struct PreTokenizer {
    std::string_view name;  // tokenizer.ggml.pre
    SplitRule rule;
    bool normalizes_nfc;        // the model's own tokenizer composes characters first
    bool prefers_whole_pieces;  // a piece that is a token is that token, whatever the merges say
    bool adds_bos;              // where the file doesn't say
};

// Empty: takt doesn't know this name.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);
// "command-r, dbrx, …": all names, for a message.
std::string pre_tokenizer_names();

// text must be valid UTF-8, shorter than 2^32 bytes. Replaces piece_ends: where each piece ends, in bytes,
// ascending.
void split_pieces(SplitRule rule, std::string_view text, std::vector<uint32_t>& piece_ends);

}  // namespace takt
