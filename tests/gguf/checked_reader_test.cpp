#include "gguf/checked_reader.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace takt;

namespace {

uint64_t fingerprint_of(std::span<const std::byte> bytes, size_t n, size_t step) {
    const auto source = borrow_memory(bytes);
    CheckedReader reader(*source);
    std::vector<std::byte> out(step);
    for (size_t at = 0; at < n; at += step)
        REQUIRE(reader.read("bytes", std::span(out).first(std::min(step, n - at))).ok());
    CHECK(reader.position() == n);
    return reader.fingerprint();
}

}  // namespace

TEST_CASE("a fingerprint is that of the bytes given out, however they are cut") {
    std::vector<std::byte> bytes(100'003);  // several windows, the last not of whole words
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 5);
    std::set<uint64_t> seen;
    for (const size_t n : {size_t{1}, size_t{7}, size_t{8}, size_t{16383}, size_t{16384}, size_t{16385},
                           size_t{49152}, size_t{70001}, bytes.size()}) {
        const uint64_t whole = fingerprint_of(bytes, n, n);
        for (const size_t step : {size_t{1}, size_t{8}, size_t{13}, size_t{5000}})
            CHECK(fingerprint_of(bytes, n, step) == whole);
        // What lies behind the bytes given out doesn't count.
        CHECK(fingerprint_of(std::span(bytes).first(n), n, n) == whole);
        seen.insert(whole);
        bytes[n / 2] ^= std::byte{1};
        seen.insert(fingerprint_of(bytes, n, n));
        bytes[n / 2] ^= std::byte{1};
    }
    CHECK(seen.size() == 18);
}

TEST_CASE("zeros at the end are not taken for none") {
    const std::vector<std::byte> zeros(64);
    CHECK(fingerprint_of(zeros, 9, 9) != fingerprint_of(zeros, 10, 10));
}
