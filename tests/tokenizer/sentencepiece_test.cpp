// What the SentencePiece-style tokenizer must do, on hand-made vocabularies.
#include <catch2/catch.hpp>

#include <random>

#include "tokenizer/detokenizer.h"
#include "vocabularies.h"

using namespace takt;
using namespace takt::test;

namespace {

using Ids = std::vector<int32_t>;

int32_t byte_id(int byte) {
    return 3 + byte;
}
constexpr int32_t kSpaceId = 259;

std::string decode(const std::shared_ptr<const Tokenizer>& tokenizer, const Ids& ids) {
    Detokenizer detokenizer(tokenizer, true, false);
    std::string text;
    for (const int32_t id : ids) text += detokenizer.append(id, false);
    return text + detokenizer.flush(false);
}

}  // namespace

TEST_CASE("The best score merges first, the leftmost among equals") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    const int32_t a = vocabulary.add("a", 1, -9);
    vocabulary.add("b", 1, -9);
    const int32_t c = vocabulary.add("c", 1, -9);
    const int32_t ab = vocabulary.add("ab", 1, -2);
    const int32_t bc = vocabulary.add("bc", 1, -1);
    const int32_t aa = vocabulary.add("aa", 1, -3);
    const auto tokenizer = make(vocabulary.sentencepiece().flag("tokenizer.ggml.add_space_prefix", false));
    CHECK(encode(*tokenizer, "abc") == Ids{a, bc});
    CHECK(encode(*tokenizer, "abac") == Ids{ab, a, c});
    CHECK(encode(*tokenizer, "aaa") == Ids{aa, a});
}

TEST_CASE("A space is put in front of the text and behind control tokens, and taken away again") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    const int32_t hi = vocabulary.add("hi", 1, -2);
    const int32_t space_hi = vocabulary.add("\u2581hi", 1, -1);
    vocabulary.add("h", 1, -8);
    vocabulary.add("i", 1, -8);
    const int32_t tool = vocabulary.add("<tool>", 4);
    const auto tokenizer = make(vocabulary.sentencepiece());
    CHECK(tokenizer->strips_leading_space());
    CHECK(encode(*tokenizer, "hi") == Ids{space_hi});
    CHECK(encode(*tokenizer, " hi") == Ids{kSpaceId, space_hi});
    CHECK(encode(*tokenizer, "").empty());
    CHECK(encode(*tokenizer, "hi", {true, false}) ==
          Ids{1, space_hi});  // SentencePiece files add BOS where they don't say
    CHECK(encode(*tokenizer, "", {true, false}) == Ids{1});
    CHECK(encode(*tokenizer, "hi</s>hi", {false, true}) == Ids{space_hi, 2, space_hi});
    CHECK(encode(*tokenizer, "hi<tool>hi") == Ids{space_hi, tool, hi});
    for (const char* text :
         {"hi", " hi", "  ", "hi</s>hi", "hi</s> hi", "hi<tool>hi<tool> hi", "<s>", "h\xff i"}) {
        CHECK((decode(tokenizer, encode(*tokenizer, text, {false, true})) == text));
    }
}

TEST_CASE("What is no token becomes byte tokens and comes back as it was") {
    const auto tokenizer =
        make(sentencepiece_vocabulary().sentencepiece().flag("tokenizer.ggml.add_space_prefix", false));
    CHECK(encode(*tokenizer, "\n") == Ids{byte_id('\n')});
    CHECK(encode(*tokenizer, "\u00e9") == Ids{byte_id(0xC3), byte_id(0xA9)});
    CHECK(encode(*tokenizer, std::string_view("\0", 1)) == Ids{byte_id(0)});
    std::string random_bytes;
    std::mt19937 random(5);
    for (int i = 0; i < 1 << 20; ++i) random_bytes += static_cast<char>(random());
    // "\u2581" is a space to SentencePiece: the one text that doesn't come back.
    for (size_t at; (at = random_bytes.find("\u2581")) != std::string::npos;) random_bytes[at] = 'x';
    CHECK(decode(tokenizer, encode(*tokenizer, "a\u2581z")) == "a z");
    for (const std::string& text : {std::string("a\x80z \xff"), std::string("\xe2\x96"),
                                    std::string("\xf4\x90\x80\x80"), random_bytes}) {
        CHECK((decode(tokenizer, encode(*tokenizer, text)) == text));
    }
}

TEST_CASE("Long texts without a break are encoded") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    for (const char* unit : {"A", ".", "\n", "\u2581", "9"}) {
        for (std::string part = unit; part.size() <= 64; part += part)
            vocabulary.add(part, 1, -static_cast<float>(part.size()));
    }
    const auto tokenizer = make(vocabulary.sentencepiece());
    for (const char* unit : {"A", "\n", " ", ".", "\u6f22", "9"}) {
        std::string text;
        for (int i = 0; i < 60000; ++i) text += unit;
        CHECK((decode(tokenizer, encode(*tokenizer, text)) == text));
    }
}

TEST_CASE("Text written like a byte or control token stays text") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    const auto tokenizer = make(vocabulary.sentencepiece().flag("tokenizer.ggml.add_space_prefix", false));
    CHECK(encode(*tokenizer, "<0x0A>").size() == 6);
    CHECK(encode(*tokenizer, "</s>").size() == 4);
    CHECK(encode(*tokenizer, "<unk>").size() == 5);
}

TEST_CASE("A missing byte token is an error with the byte's place in the text") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    vocabulary.tokens[static_cast<size_t>(byte_id('\n'))] = "<other>";
    vocabulary.types[static_cast<size_t>(byte_id('\n'))] = 1;
    const auto tokenizer = make(vocabulary.sentencepiece());
    CHECK(tokenizer->encode("a b\nc", {}).status().message() ==
          "Byte 0x0A at offset 3 of the text has no token in the vocabulary.");
    CHECK(tokenizer->encode("</s> \n", {false, true}).status().message() ==
          "Byte 0x0A at offset 5 of the text has no token in the vocabulary.");
}

TEST_CASE("Unused tokens help to merge but are not given out") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    const int32_t a = vocabulary.add("a", 1, -9);
    const int32_t b = vocabulary.add("b", 1, -9);
    vocabulary.add("c", 1, -9);
    vocabulary.add("ab", 5, -1);
    const int32_t abc = vocabulary.add("abc", 1, -2);
    const auto tokenizer = make(vocabulary.sentencepiece().flag("tokenizer.ggml.add_space_prefix", false));
    CHECK(encode(*tokenizer, "ab") == Ids{a, b});
    CHECK(encode(*tokenizer, "abc") == Ids{abc});
}
