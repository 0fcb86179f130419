// What lib/tokenizer/detokenizer.cpp must do: whole characters only, no byte lost.
#include <catch2/catch.hpp>

#include <random>

#include "tokenizer/detokenizer.h"
#include "base/utf8.h"
#include "vocabularies.h"

using namespace takt;
using namespace takt::test;

namespace {

using Texts = std::vector<std::string>;

// One token per byte; the last entry is what flush gives.
Texts stream(std::string_view bytes, bool valid_only) {
    static const auto tokenizer = make(byte_level_vocabulary().byte_level("gpt-2"));
    Detokenizer detokenizer(tokenizer, false, false);
    Texts texts;
    for (const char byte : bytes) texts.push_back(detokenizer.append(static_cast<uint8_t>(byte), valid_only));
    texts.push_back(detokenizer.flush(valid_only));
    return texts;
}

std::string join(const Texts& texts) {
    std::string out;
    for (const std::string& text : texts) out += text;
    return out;
}

}  // namespace

TEST_CASE("An emoji split over four tokens comes out whole") {
    CHECK(stream("a\xf0\x9f\x98\x80z", false) == Texts{"a", "", "", "", "\xf0\x9f\x98\x80", "z", ""});
}

TEST_CASE("Bytes that can't become a character are passed on or replaced") {
    CHECK(stream("\xff", false) == Texts{"\xff", ""});
    CHECK(stream("\xff", true) == Texts{"\ufffd", ""});
    CHECK(stream("\xe2\x82"
                 "a",
                 false) == Texts{"", "",
                                 "\xe2\x82"
                                 "a",
                                 ""});
    CHECK(stream("\xe2\x82"
                 "a",
                 true) == Texts{"", "",
                                "\ufffd"
                                "a",
                                ""});
    CHECK(stream("\xed\xa0\x80", true) == Texts{"", "\ufffd\ufffd", "\ufffd", ""});
}

TEST_CASE("An unfinished character is given at the end, as its bytes or as U+FFFD") {
    CHECK(stream("x\xf0\x9f", false) == Texts{"x", "", "", "\xf0\x9f"});
    CHECK(stream("x\xf0\x9f", true) == Texts{"x", "", "", "\ufffd"});
}

TEST_CASE("No byte of random tokens is lost, and with valid_only every part is UTF-8") {
    std::mt19937 random(17);
    for (int round = 0; round < 200; ++round) {
        std::string bytes;
        for (int i = 0; i < 200; ++i)
            bytes += static_cast<char>(random() % 4 ? 0x80 + random() % 128 : random() % 128);
        CHECK(join(stream(bytes, false)) == bytes);
        for (const std::string& text : stream(bytes, true)) CHECK(utf8_valid_end(text, 0) == text.size());
    }
}

TEST_CASE("Control tokens are left out or kept, ids out of range give nothing") {
    const auto tokenizer = make(byte_level_vocabulary().byte_level("gpt-2"));
    Detokenizer without(tokenizer, false, false);
    CHECK(without.append(256, false).empty());
    CHECK(without.append(-1, false).empty());
    CHECK(without.append(INT32_MAX, false).empty());
    CHECK(without.append('a', false) == "a");
    CHECK(Detokenizer(tokenizer, true, false).append(256, false) == "<|end|>");
}

TEST_CASE("The space of the first word belongs to the tokenizer unless the text goes on") {
    TestVocabulary vocabulary = sentencepiece_vocabulary();
    const int32_t word = vocabulary.add("\u2581word");
    const auto tokenizer = make(vocabulary.sentencepiece());
    Detokenizer fresh(tokenizer, false, false);
    CHECK(fresh.append(1, false).empty());
    CHECK(fresh.append(word, false) == "word");
    CHECK(fresh.append(word, false) == " word");
    Detokenizer continued(tokenizer, false, true);
    CHECK(continued.append(word, false) == " word");
}
