// Hand-made vocabularies: every byte, a few words, a few special tokens.
#pragma once

#include <fmt/format.h>

#include "gguf_bytes.h"
#include "tokenizer/byte_alphabet.h"

namespace takt::test {

inline std::string letters(std::string_view bytes) {
    std::string out;
    append_letters(out, bytes);
    return out;
}

// What a test may change before it builds the file. Types: 1 normal, 2 unknown, 3 control, 4 user-defined, 5
// unused, 6 byte.
struct TestVocabulary {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    std::vector<float> scores;
    std::vector<std::string> merges;

    int32_t add(std::string text, int32_t type = 1, float score = 0) {
        tokens.push_back(std::move(text));
        types.push_back(type);
        scores.push_back(score);
        return static_cast<int32_t>(tokens.size()) - 1;
    }
    // left and right as plain bytes.
    int32_t merge(std::string_view left, std::string_view right) {
        merges.push_back(letters(left) + " " + letters(right));
        return add(letters(std::string(left).append(right)));
    }
    GgufBytes byte_level(std::string_view pre) const {
        return std::move(GgufBytes()
                             .text("tokenizer.ggml.model", "gpt2")
                             .text("tokenizer.ggml.pre", pre)
                             .texts("tokenizer.ggml.tokens", tokens)
                             .i32s("tokenizer.ggml.token_type", types)
                             .texts("tokenizer.ggml.merges", merges));
    }
    GgufBytes sentencepiece() const {
        return std::move(GgufBytes()
                             .text("tokenizer.ggml.model", "llama")
                             .texts("tokenizer.ggml.tokens", tokens)
                             .i32s("tokenizer.ggml.token_type", types)
                             .f32s("tokenizer.ggml.scores", scores));
    }
};

// Ids 0 to 255 are the bytes; 256 <|end|> and 257 <|start|> are control tokens, 258 <tool> is user-defined.
inline TestVocabulary byte_level_vocabulary() {
    TestVocabulary vocabulary;
    for (int byte = 0; byte < 256; ++byte) vocabulary.add(letters(std::string(1, static_cast<char>(byte))));
    vocabulary.add("<|end|>", 3);
    vocabulary.add("<|start|>", 3);
    vocabulary.add("<tool>", 4);
    return vocabulary;
}

// 0 <unk>, 1 <s>, 2 </s>, 3 + byte the bytes, 259 "▁", then a few letters and words.
inline TestVocabulary sentencepiece_vocabulary() {
    TestVocabulary vocabulary;
    vocabulary.add("<unk>", 2);
    vocabulary.add("<s>", 3);
    vocabulary.add("</s>", 3);
    for (int byte = 0; byte < 256; ++byte) vocabulary.add(fmt::format("<0x{:02X}>", byte), 6);
    vocabulary.add("\xE2\x96\x81", 1, -1);
    return vocabulary;
}

inline std::shared_ptr<const Tokenizer> make(const GgufBytes& bytes) {
    Result<std::shared_ptr<const Tokenizer>> tokenizer = bytes.tokenizer();
    INFO(tokenizer.status().message());
    REQUIRE(tokenizer.ok());
    return *tokenizer;
}

inline std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text,
                                   EncodeOptions options = {false, false}) {
    Result<std::vector<int32_t>> ids = tokenizer.encode(text, options);
    INFO(ids.status().message());
    REQUIRE(ids.ok());
    return *ids;
}

}  // namespace takt::test
