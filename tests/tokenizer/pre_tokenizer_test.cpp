// What lib/tokenizer/pre_tokenizer.cpp must do: the pieces of each split rule.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tokenizer/pre_tokenizer.h"

using namespace takt;

namespace {

using Pieces = std::vector<std::string>;

Pieces split(SplitRule rule, std::string_view text) {
    std::vector<uint32_t> ends = {77};  // replaced, not appended to
    split_pieces(rule, text, ends);
    Pieces pieces;
    size_t begin = 0;
    for (const uint32_t end : ends) {
        REQUIRE(end > begin);
        pieces.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    REQUIRE(begin == text.size());
    return pieces;
}

}  // namespace

TEST_CASE("gpt-2 splits words with their space, contractions, numbers and whitespace") {
    CHECK(split(SplitRule::gpt2, "Hello world's 123abc!?") ==
          Pieces{"Hello", " world", "'s", " 123", "abc", "!?"});
    CHECK(split(SplitRule::gpt2, "I'LL we'll  x") == Pieces{"I", "'", "LL", " we", "'ll", " ", " x"});
    CHECK(split(SplitRule::gpt2, "a \n b\t\tc  ") == Pieces{"a", " \n", " b", "\t", "\t", "c", "  "});
    CHECK(split(SplitRule::gpt2, " 's") == Pieces{" '", "s"});
    CHECK(split(SplitRule::gpt2, "") == Pieces{});
    CHECK(split(SplitRule::gpt2, "na\u00efve\u00a0\u6771\u4eac \u00bd") ==
          Pieces{"na\u00efve", "\u00a0", "\u6771\u4eac", " \u00bd"});
}

TEST_CASE("smollm takes every number alone and looks ahead only as far as the next") {
    CHECK(split(SplitRule::smollm, "in 1987") == Pieces{"in", " ", "1", "9", "8", "7"});
    CHECK(split(SplitRule::smollm, "a   12  b") == Pieces{"a", "   ", "1", "2", " ", " b"});
}

TEST_CASE("qwen2 keeps one character before a word and the line breaks behind punctuation") {
    CHECK(split(SplitRule::qwen2, "(abc) 'Tis it'S") == Pieces{"(abc", ")", " '", "Tis", " it", "'S"});
    CHECK(split(SplitRule::qwen2, "{}\n\n  x") == Pieces{"{}\n\n", " ", " x"});
    CHECK(split(SplitRule::qwen2, "a \n \n  b") == Pieces{"a", " \n \n", " ", " b"});
    CHECK(split(SplitRule::qwen2, "1234 5") == Pieces{"1", "2", "3", "4", " ", "5"});
    CHECK(split(SplitRule::qwen2, "\n\nx\r\n") == Pieces{"\n\n", "x", "\r\n"});
    CHECK(split(SplitRule::qwen2, "\tx \ty") == Pieces{"\tx", " ", "\ty"});
    CHECK(split(SplitRule::qwen2, "it'\u017f x") == Pieces{"it", "'\u017f", " x"});  // the long s folds to s
}

TEST_CASE("llama-bpe is qwen2 with numbers in threes") {
    CHECK(split(SplitRule::llama3, "1234567 89") == Pieces{"123", "456", "7", " ", "89"});
    CHECK(split(SplitRule::llama3, "x\u00b2\u00b3") == Pieces{"x", "\u00b2\u00b3"});
}

TEST_CASE("default splits punctuation first, then words, then digits in threes") {
    CHECK(split(SplitRule::fallback, "it's (12345) x") ==
          Pieces{"it", "'", "s", " ", "(", "123", "45", ")", " x"});
    CHECK(split(SplitRule::fallback, "a 1234 b") == Pieces{"a", " ", "123", "4", " b"});
    CHECK(split(SplitRule::fallback, "12\u06635678") == Pieces{"12\u0663", "567", "8"});
    CHECK(split(SplitRule::fallback, "a  ($+x  1") == Pieces{"a", "  ", "($+", "x", " ", " ", "1"});
}

TEST_CASE("Every rule splits as the expression of the models' own tokenizers") {
    // Another file of tests/data/tokenizer/make_pieces.py, for a check at length.
    const char* other = std::getenv("TAKT_PIECES");
    std::ifstream file(other ? other : TAKT_TEST_DATA_DIR "/tokenizer/pieces.json");
    REQUIRE(file.good());
    const auto rules = nlohmann::json::parse(file);
    CHECK(rules.size() == 10);
    for (const auto& [name, cases] : rules.items()) {
        const auto pre = find_pre_tokenizer(name);
        REQUIRE(pre);
        CHECK(cases.size() > 50);
        for (const auto& one : cases) {
            INFO(name << ": " << one.dump());
            CHECK(split(pre->rule, one[0].get<std::string>()) == one[1].get<Pieces>());
        }
    }
}

TEST_CASE("Pieces of any rule lie inside long hostile texts without a break") {
    for (const char* unit : {"A", "\n", " ", ".", "\u6f22", "9", "'", "\u0301", " \n", "'l"}) {
        std::string text;
        for (int i = 0; i < 60000; ++i) text += unit;
        for (const SplitRule rule :
             {SplitRule::gpt2, SplitRule::smollm, SplitRule::qwen2, SplitRule::llama3, SplitRule::qwen35,
              SplitRule::gpt4o, SplitRule::tekken, SplitRule::deepseek3, SplitRule::deepseek_llm,
              SplitRule::deepseek_coder, SplitRule::fallback}) {
            CHECK(!split(rule, text).empty());
        }
    }
}

TEST_CASE("Pre-tokenizers are found by the names files give them") {
    CHECK(find_pre_tokenizer("llama-v3")->rule == SplitRule::llama3);
    CHECK(find_pre_tokenizer("llama3")->prefers_whole_pieces);
    CHECK(find_pre_tokenizer("qwen2")->normalizes_nfc);
    CHECK(find_pre_tokenizer("default")->rule == SplitRule::fallback);
    CHECK(!find_pre_tokenizer("no-such-pre"));
    CHECK(!find_pre_tokenizer(""));
}
