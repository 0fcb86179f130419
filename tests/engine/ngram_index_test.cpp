// What followed the same tokens before, against a search of the whole text.
#include "engine/ngram_index.h"

#include <catch2/catch.hpp>

#include <random>

namespace takt {
namespace {

using Ids = std::vector<int32_t>;

// The length of the longest earlier occurrence of the text's end, up to 32 tokens.
size_t longest_match(const Ids& text) {
    size_t best = 0;
    for (size_t place = 0; place + 1 < text.size(); ++place) {
        size_t n = 0;
        while (n <= place && n < 32 && text[place - n] == text[text.size() - 1 - n]) ++n;
        best = std::max(best, n);
    }
    return best;
}

Ids propose(NgramIndex& index, const Ids& text, size_t n = 4) {
    Ids out(n, -1);
    out.resize(index.propose(text, out));
    return out;
}

}  // namespace

TEST_CASE("what followed the longest earlier occurrence is proposed, of equal ones the latest") {
    NgramIndex index(100);
    CHECK(propose(index, {1, 2}).empty());
    CHECK(propose(index, {1, 2, 3, 1, 2}) == Ids{3, 1, 2, 3});
    index.clear();
    CHECK(propose(index, {1, 2, 3, 9, 1, 2, 4, 5, 1, 2}) == Ids{4, 5, 1, 2});
    index.clear();
    CHECK(propose(index, {7, 1, 2, 3, 9, 8, 1, 2, 4, 5, 7, 1, 2}) == Ids{3, 9, 8, 1});
    index.clear();
    CHECK(propose(index, {5, 5, 5, 5}) == Ids{5, 5, 5, 5});
    index.clear();
    CHECK(propose(index, {1, 2, 3, 4, 5, 2}).empty());
}

TEST_CASE("an index that grows with its text finds what a search finds") {
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
        NgramIndex index(400);
        Ids text;
        while (text.size() < 400) {
            text.push_back(static_cast<int32_t>(random() % 6));
            if (random() % 3 != 0) continue;  // sometimes several tokens come between two questions
            const Ids found = propose(index, text, 3);
            const size_t longest = text.size() < 3 ? 0 : longest_match(text);
            if (longest < 2) {
                CHECK(found.empty());
                continue;
            }
            // Chains are cut where they are long: what is found did stand behind the text's last two tokens.
            REQUIRE(found.size() == 3);
            bool stood = false;
            for (size_t i = 1; i + 1 < text.size(); ++i) {
                stood = stood || (text[i - 1] == text[text.size() - 2] && text[i] == text.back() &&
                                  text[i + 1] == found[0]);
            }
            CHECK(stood);
        }
    }
}

}  // namespace takt
