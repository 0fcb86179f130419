// What lib/tokenizer/normalize.cpp must do.
#include <catch2/catch.hpp>

#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "tokenizer/normalize.h"
#include "base/utf8.h"

using namespace takt;

namespace {

std::string nfc(std::string_view text) {
    std::string buffer;
    return std::string(normalize_nfc(text, buffer));
}

}  // namespace

TEST_CASE("NFC composes what has a composed form and leaves the rest") {
    CHECK(nfc("plain") == "plain");
    CHECK(nfc("") == "");
    CHECK(nfc("cafe\u0301") == "caf\u00e9");
    CHECK(nfc("\u212b") == "\u00c5");              // a singleton
    CHECK(nfc("\u1112\u1161\u11ab") == "\ud55c");  // Hangul
    CHECK(nfc("a\u0323\u0307") == "\u1ea1\u0307");
    CHECK(nfc("a\u0307\u0323") == "\u1ea1\u0307");  // marks are put in order first
    CHECK(nfc("\u00e1\u0323") == "\u1ea1\u0301");   // a composed character gives way to a lower mark
    CHECK(nfc("\u0958") == "\u0915\u093c");         // excluded from composition
    CHECK(nfc("\xf0\x9f\x98\x80 \u4e16") == "\xf0\x9f\x98\x80 \u4e16");
}

TEST_CASE("NFC agrees with utf8proc's own on random texts") {
    std::mt19937 random(11);
    const uint32_t bases[] = {0x20,   0x41,   0xC0,   0x2FF,  0x300,  0x340,   0x900,
                              0x1100, 0x1E00, 0x3040, 0xAC00, 0xF900, 0x1D150, 0x2F800};
    for (int round = 0; round < 20000; ++round) {
        std::string text;
        for (int i = 0; i < 8; ++i) append_utf8(text, bases[random() % std::size(bases)] + random() % 64);
        utf8proc_uint8_t* expected = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
        REQUIRE(expected != nullptr);
        const std::string expected_text(reinterpret_cast<const char*>(expected));
        std::free(expected);
        INFO(text);
        REQUIRE(nfc(text) == expected_text);
    }
}

TEST_CASE("A megabyte of combining marks in the worst order is sorted, not bubbled") {
    std::string text = "a";
    for (int i = 0; i < 1 << 18; ++i) text += "\u0301\u0323";  // a quadratic sort would need 10^11 steps
    const std::string composed = nfc(text);
    CHECK(composed.substr(0, 3) == "\u1ea1");
    CHECK(composed.size() == text.size());
}
