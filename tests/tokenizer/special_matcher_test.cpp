// What lib/tokenizer/special_matcher.cpp must do.
#include <catch2/catch.hpp>

#include <random>

#include "tokenizer/special_matcher.h"

using namespace takt;

namespace {

std::vector<std::string> found(const SpecialMatcher& matcher, std::string_view text) {
    std::vector<std::string> out;
    for (const auto& match : matcher.find(text)) {
        out.push_back(std::to_string(match.begin) + ":" + std::to_string(match.id) + ":" +
                      std::to_string(match.size));
    }
    return out;
}

}  // namespace

TEST_CASE("The leftmost special token wins, then the longest") {
    SpecialMatcher matcher;
    matcher.add("<a>", 1);
    matcher.add("<a><b>", 2);
    matcher.add("b>", 3);
    matcher.add("<", 4);
    matcher.add("<a>", 5);  // a duplicate: the first counts
    matcher.add("", 6);
    matcher.build();
    CHECK(found(matcher, "x<a>y") == std::vector<std::string>{"1:1:3"});
    CHECK(found(matcher, "<a><b>") == std::vector<std::string>{"0:2:6"});
    CHECK(found(matcher, "<a<a>b>") == std::vector<std::string>{"0:4:1", "2:1:3", "5:3:2"});
    CHECK(found(matcher, "").empty());
    CHECK(found(SpecialMatcher(), "<a>").empty());
}

TEST_CASE("Special tokens are found as a search at every place finds them") {
    std::mt19937 random(7);
    const auto word = [&](size_t size) {
        std::string out;
        for (size_t i = 0; i < size; ++i) out += static_cast<char>('a' + random() % 2);
        return out;
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> tokens;
        SpecialMatcher matcher;
        for (int i = 0; i < 6; ++i) {
            tokens.push_back(word(1 + random() % 6));
            matcher.add(tokens.back(), i);
        }
        matcher.build();
        const std::string text = word(80);
        std::vector<std::string> expected;
        for (size_t pos = 0; pos < text.size();) {
            int best = -1;
            for (int i = 0; i < 6; ++i) {
                const auto& token = tokens[static_cast<size_t>(i)];
                if (text.compare(pos, token.size(), token) != 0) continue;
                if (best < 0 || token.size() > tokens[static_cast<size_t>(best)].size()) best = i;
            }
            const size_t size = best < 0 ? 1 : tokens[static_cast<size_t>(best)].size();
            if (best >= 0)
                expected.push_back(std::to_string(pos) + ":" + std::to_string(best) + ":" +
                                   std::to_string(size));
            pos += size;
        }
        INFO(text);
        REQUIRE(found(matcher, text) == expected);
    }
}

TEST_CASE("A hostile set of special tokens is searched without re-reading the text") {
    SpecialMatcher matcher;
    matcher.add("a", 1);
    matcher.add(std::string(65535, 'a') + "b", 2);
    matcher.build();
    // Looking 65536 bytes ahead at each of these would be 6 * 10^10 steps: the test would not end.
    CHECK(matcher.find(std::string(1 << 20, 'a')).size() == 1 << 20);
}
