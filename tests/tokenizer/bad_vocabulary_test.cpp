// Vocabularies that contradict themselves: each is refused with a sentence, or loads and then loses nothing.
#include <catch2/catch.hpp>

#include <fstream>
#include <limits>
#include <sstream>

#include "tokenizer/detokenizer.h"
#include "vocabularies.h"

using namespace takt;
using namespace takt::test;

namespace {

std::string error_of(const GgufBytes& bytes) {
    const Result<std::shared_ptr<const Tokenizer>> tokenizer = bytes.tokenizer();
    REQUIRE(!tokenizer.ok());
    CHECK(tokenizer.status().code() == StatusCode::tokenizer_invalid);
    return tokenizer.status().message();
}

GgufBytes byte_level() {
    return byte_level_vocabulary().byte_level("gpt-2");
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

// words: "a|b;c" asks for (a or b) and c, in any case.
bool has_words(std::string message, const std::string& words) {
    for (char& c : message) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string& group : split(words, ';')) {
        bool any = false;
        for (std::string word : split(group, '|')) {
            for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            any |= message.find(word) != std::string::npos;
        }
        if (!any) return false;
    }
    return true;
}

// Whatever loaded must take these texts and give them back, or say which byte it can't.
void check_use(const std::shared_ptr<const Tokenizer>& tokenizer) {
    for (const char* text : {"ab", "zzqq", "\u00e9", "a\nb", "\xff\xfe", ""}) {
        const Result<std::vector<int32_t>> ids = tokenizer->encode(text, {false, true});
        if (!ids.ok()) {
            CHECK(has_words(ids.status().message(), "at offset"));
            continue;
        }
        Detokenizer detokenizer(tokenizer, true, false);
        std::string decoded;
        for (const int32_t id : *ids) decoded += detokenizer.append(id, false);
        CHECK(decoded + detokenizer.flush(false) == text);
    }
}

}  // namespace

TEST_CASE("The hostile vocabularies on file do what their table says") {
    const std::string folder = TAKT_TEST_DATA_DIR "/bad_gguf/";
    std::ifstream table(folder + "cases.tsv");
    REQUIRE(table.good());
    int n_cases = 0;
    for (std::string line; std::getline(table, line);) {
        const std::vector<std::string> fields = split(line, '\t');
        if (fields.size() < 5 || (fields[2] != "tokenizer" && fields[2] != "odd but valid")) continue;
        INFO(line);
        ++n_cases;
        const Result<std::shared_ptr<const ByteSource>> source = open_file(folder + fields[1]);
        REQUIRE(source.ok());
        const Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(*source);
        INFO(file.status().message());
        if (!file.ok() && fields[3] == "load") FAIL_CHECK("a valid file is refused");
        if (!file.ok()) continue;  // the reader's own tests judge its words
        const Result<std::shared_ptr<const Tokenizer>> tokenizer = Tokenizer::create(**file);
        INFO(tokenizer.status().message());
        if (fields[3] == "error") CHECK(!tokenizer.ok());
        if (fields[3] == "load") CHECK(tokenizer.ok());
        if (tokenizer.ok()) {
            check_use(*tokenizer);
        } else {
            CHECK(has_words(tokenizer.status().message(), fields[4]));
        }
    }
    CHECK(n_cases >= 20);
}

TEST_CASE("A model or split rule that takt doesn't know is refused by name") {
    CHECK(error_of(GgufBytes().text("tokenizer.ggml.model", "rwkv")) ==
          "tokenizer.ggml.model is 'rwkv', takt reads gpt2 and llama.");
    CHECK(error_of(GgufBytes()) == "The file has no tokenizer.ggml.model.");
    CHECK(has_words(error_of(GgufBytes().u32("tokenizer.ggml.model", 7)), "tokenizer.ggml.model"));
    const std::string unknown = error_of(byte_level_vocabulary().byte_level("no-such-pre"));
    CHECK(unknown.starts_with(
        "tokenizer.ggml.pre is 'no-such-pre', a split rule that takt doesn't know; it knows codeshell, "));
    CHECK(has_words(unknown, "qwen35, refact;tekken."));
}

TEST_CASE("Tokens that can't be are refused") {
    const auto with_tokens = [](std::vector<std::string> tokens) {
        return GgufBytes()
            .text("tokenizer.ggml.model", "gpt2")
            .texts("tokenizer.ggml.tokens", tokens)
            .texts("tokenizer.ggml.merges", {});
    };
    CHECK(error_of(with_tokens({})) == "tokenizer.ggml.tokens is empty: it has 0 entries.");
    CHECK(error_of(with_tokens({"a", std::string(65537, 'x')})) ==
          "tokenizer.ggml.tokens: token 1 has 65537 bytes, the limit is 65536.");
    CHECK(error_of(with_tokens({"a", "b\xff"})) ==
          "tokenizer.ggml.tokens: token 1 is invalid UTF-8 at byte 1.");
    CHECK(with_tokens({"a", std::string(65536, 'x')}).tokenizer().ok());
}

TEST_CASE("Arrays of the wrong length or type are refused with both numbers") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    vocabulary.scores.resize(10);
    CHECK(error_of(vocabulary.sentencepiece()) == "tokenizer.ggml.scores has 10 entries for 260 tokens.");
    vocabulary = sentencepiece_vocabulary();
    vocabulary.scores[7] = std::numeric_limits<float>::quiet_NaN();
    CHECK(error_of(vocabulary.sentencepiece()) ==
          "tokenizer.ggml.scores: the score of token 7 is nan, a finite number is needed.");
    vocabulary = byte_level_vocabulary();
    vocabulary.types.resize(100);
    CHECK(error_of(vocabulary.byte_level("gpt-2")) ==
          "tokenizer.ggml.token_type has 100 entries for 259 tokens.");
    CHECK(has_words(
        error_of(GgufBytes().text("tokenizer.ggml.model", "llama").text("tokenizer.ggml.tokens", "x")),
        "tokenizer.ggml.tokens;type;string"));
}

TEST_CASE("Special ids past the vocabulary are refused by key and number") {
    for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                            "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
        CHECK(error_of(byte_level().u32(key, 259)) ==
              std::string(key) + " is 259, the vocabulary has 259 tokens.");
        CHECK(byte_level().u32(key, 258).tokenizer().ok());
    }
    CHECK(error_of(byte_level().i32s("tokenizer.ggml.eos_token_ids", {3, 999})) ==
          "tokenizer.ggml.eos_token_ids is 999, the vocabulary has 259 tokens.");
    CHECK(has_words(error_of(byte_level().i32s("tokenizer.ggml.eos_token_ids", {-2})),
                    "tokenizer.ggml.eos_token_ids;-2"));
    CHECK(has_words(error_of(byte_level().flag("tokenizer.ggml.add_bos_token", true)),
                    "add_bos_token;bos_token_id"));
    CHECK(has_words(error_of(byte_level().u32("tokenizer.ggml.add_bos_token", 1)),
                    "tokenizer.ggml.add_bos_token"));
}

TEST_CASE("Malformed merges are refused by number, merges of no tokens change nothing") {
    for (const char* merge : {"ab", " ab", "ab ", "", " ", "a b c"}) {
        TestVocabulary vocabulary = byte_level_vocabulary();
        vocabulary.merge("a", "b");
        vocabulary.merges.push_back(merge);
        CHECK(has_words(error_of(vocabulary.byte_level("gpt-2")),
                        "tokenizer.ggml.merges;merge 1 is malformed"));
    }
    TestVocabulary vocabulary = byte_level_vocabulary();
    vocabulary.merges = {"zz qq", "a a"};
    CHECK(encode(*make(vocabulary.byte_level("gpt-2")), "zzqqaa").size() == 6);
    CHECK(has_words(
        error_of(GgufBytes().text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a"})),
        "tokenizer.ggml.merges"));
}

TEST_CASE("Equal tokens, empty tokens and types that mean nothing load") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    vocabulary.add("a");
    vocabulary.add("");
    vocabulary.add("", 3);
    vocabulary.add("", 4);
    vocabulary.types['b'] = 99;
    vocabulary.types['c'] = -1;
    const auto tokenizer = make(vocabulary.byte_level("gpt-2"));
    CHECK(encode(*tokenizer, "abc", {false, true}) == std::vector<int32_t>{'a', 'b', 'c'});
    CHECK(tokenizer->token_type('b') == TokenType::normal);
}

TEST_CASE("A generation ends at EOS, EOT, EOM, the listed ids and the family's own tokens") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    const int32_t endoftext = vocabulary.add("<|endoftext|>", 3);
    const int32_t turn = vocabulary.add("<end_of_turn>", 4);
    vocabulary.add("<|im_end|>", 1);  // a plain token that only looks like one
    vocabulary.add("</s>", 4);        // struck text in Gemma
    const auto tokenizer = make(vocabulary.byte_level("gpt-2")
                                    .u32("tokenizer.ggml.eos_token_id", 1)
                                    .u32("tokenizer.ggml.eot_token_id", 2)
                                    .u32("tokenizer.ggml.eom_token_id", 3)
                                    .i32s("tokenizer.ggml.eos_token_ids", {5, 1}));
    CHECK(tokenizer->end_of_generation_ids() == std::vector<int32_t>{1, 2, 3, 5, 256, endoftext, turn});
    CHECK(tokenizer->is_end_of_generation(256));
    CHECK(!tokenizer->is_end_of_generation(257));
    // gpt-oss: there <|end|> ends a message only.
    const int32_t call = vocabulary.add("<|call|>", 3);
    CHECK(make(vocabulary.byte_level("gpt-2"))->end_of_generation_ids() ==
          std::vector<int32_t>{endoftext, turn, call});
}

TEST_CASE("A file without token types takes its special ids as control tokens") {
    const TestVocabulary vocabulary = byte_level_vocabulary();
    const auto tokenizer = make(GgufBytes()
                                    .text("tokenizer.ggml.model", "gpt2")
                                    .texts("tokenizer.ggml.tokens", vocabulary.tokens)
                                    .texts("tokenizer.ggml.merges", {})
                                    .u32("tokenizer.ggml.eos_token_id", 256));
    CHECK(encode(*tokenizer, "<|end|>", {false, true}) == std::vector<int32_t>{256});
    CHECK(tokenizer->token_bytes(256, false).empty());
}
