// What a reader sees of a stream of tokens: whole characters, and nothing of a stop string.
#include <catch2/catch.hpp>

#include <random>

#include "engine/text_stream.h"
#include "engine_fixture.h"
#include "tokenizer/detokenizer.h"

namespace takt {
namespace {

using namespace takt::test;

std::vector<int32_t> ids_of(const std::string& text) {
    auto ids = tiny_llama()->tokenizer()->encode(text, {false, false});
    REQUIRE(ids.ok());
    return *ids;
}

std::shared_ptr<const TokenTexts> texts() {
    return std::make_shared<const TokenTexts>(*tiny_llama()->tokenizer());
}

struct Shown {
    std::vector<std::string> pieces;  // one a token, then the rest
    std::string text;
    bool stopped = false;
};

// One token a byte, so that everything is cut everywhere.
Shown show(const std::string& bytes, std::vector<std::string> stops) {
    TextStream stream(texts(), std::move(stops));
    Shown shown;
    for (const char byte : bytes) {
        int32_t id = -1;
        for (int32_t candidate = 0; candidate < 256 && id < 0; ++candidate) {
            if (tiny_llama()->tokenizer()->token_bytes(candidate, false) == std::string(1, byte))
                id = candidate;
        }
        REQUIRE(id >= 0);
        shown.pieces.emplace_back(stream.append(id));
    }
    shown.pieces.emplace_back(stream.flush());
    for (const std::string& piece : shown.pieces) shown.text += piece;
    shown.stopped = stream.stopped();
    return shown;
}

}  // namespace

TEST_CASE("a stop string that spans tokens is cut, whole") {
    CHECK(show("one two three", {"two"}).text == "one ");
    CHECK(show("one two three", {"two"}).stopped);
    CHECK(show("one two three", {"three", "two", "e t"}).text == "on");  // ends first
    CHECK(show("one two", {"one"}).text.empty());
    CHECK(show("aaab", {"aab"}).text == "a");
    CHECK(show("abcabd", {"abd"}).text == "abc");
    CHECK(show("xyz", {"z"}).text == "xy");
    CHECK(show("short and long", {"and", " and l"}).text == "short ");
    CHECK(show("ünïcödé", {"cö"}).text == "ünï");
}

TEST_CASE("text that may become a stop string is held back, and given when it doesn't") {
    const Shown shown = show("ab<en<end", {"<end>"});
    CHECK(shown.text == "ab<en<end");
    CHECK_FALSE(shown.stopped);
    CHECK(shown.pieces == std::vector<std::string>{"a", "b", "", "", "", "<en", "", "", "", "<end"});
}

TEST_CASE("never half a character, and what can become none is U+FFFD") {
    const Shown shown = show(
        "a\xE6\xBC\xA2"
        "b\xFF"
        "c\xE6\xBC",
        {});
    CHECK(shown.pieces == std::vector<std::string>{"a", "", "", "\xE6\xBC\xA2", "b", "\xEF\xBF\xBD", "c", "",
                                                   "", "\xEF\xBF\xBD"});
}

TEST_CASE("a thousand stop strings work as one does") {
    std::vector<std::string> stops;
    for (int i = 0; i < 1000; ++i) stops.push_back("stop " + std::to_string(i) + "!");
    CHECK(show("go on, stop 7 and stop 777! here", stops).text == "go on, stop 7 and ");
    CHECK(show("go on, stop 7 and stop 1777", stops).text == "go on, stop 7 and stop 1777");
}

TEST_CASE("a stream of any tokens is what the detokenizer makes of them") {
    for (const auto& model : {tiny_llama(), tiny_gemma(), load_tiny("mistral-as-llama")}) {
        const auto shared = std::make_shared<const TokenTexts>(*model->tokenizer());
        std::mt19937 random(5);
        for (int round = 0; round < 50; ++round) {
            TextStream stream(shared, {});
            Detokenizer detokenizer(model->tokenizer(), false, true);
            for (int i = 0; i < 60; ++i) {
                const auto id = static_cast<int32_t>(random() % 384);
                REQUIRE(std::string(stream.append(id)) == detokenizer.append(id, true));
            }
            CHECK(std::string(stream.flush()) == detokenizer.flush(true));
        }
    }
}

TEST_CASE("without stop strings text passes as the tokens have it") {
    const std::string text = "The cat sat on the mat, 3 times.";
    TextStream stream(texts(), {});
    std::string shown;
    for (const int32_t id : ids_of(text)) shown += stream.append(id);
    CHECK(shown == text);
    CHECK(stream.flush().empty());
}

}  // namespace takt
