#include "base/checksum.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

using namespace takt;

TEST_CASE("a checksum tells every length, every changed bit and every seed apart") {
    std::vector<std::byte> bytes(300);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
    std::set<uint64_t> seen;
    size_t n = 0;
    for (const uint64_t seed : {0, 1, 2}) {
        for (size_t size = 0; size <= bytes.size(); ++size, ++n)
            seen.insert(checksum64(std::span(bytes).first(size), seed));
    }
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit, ++n) {
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        seen.insert(checksum64(bytes));
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    CHECK(seen.size() == n);
    CHECK(checksum64(std::vector<std::byte>(64)) != checksum64(std::vector<std::byte>(128)));
    CHECK(checksum64(std::vector<std::byte>(7)) != checksum64(std::vector<std::byte>(8)));
}

TEST_CASE("a checksum is the same wherever the bytes lie, and on every machine") {
    std::vector<std::byte> bytes(1000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
    const uint64_t expected = checksum64(std::span(bytes).first(777));
    for (size_t shift = 1; shift < 20; ++shift) {
        std::vector<std::byte> moved(shift + 777);
        std::copy_n(bytes.begin(), 777, moved.begin() + static_cast<std::ptrdiff_t>(shift));
        CHECK(checksum64(std::span(moved).subspan(shift)) == expected);
    }
    CHECK(expected == 0x26180af20b2bd4a4u);
}
