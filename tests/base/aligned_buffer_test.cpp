// Aligned, zeroed memory, and sizes that cannot be had.
#include "base/aligned_buffer.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

using namespace takt;

TEST_CASE("A buffer is aligned to 64 bytes, zeroed and of the size asked for") {
    for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{1000}, size_t{5} << 20}) {
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(size);
        REQUIRE(buffer.ok());
        CHECK(buffer->size_bytes() == size);
        CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % AlignedBuffer::kAlignment == 0);
        const auto bytes = buffer->as<uint8_t>();
        REQUIRE(bytes.size() == size);
        CHECK(std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; }));
        std::fill(bytes.begin(), bytes.end(), uint8_t{255});
    }
}

TEST_CASE("An empty buffer is fine") {
    const Result<AlignedBuffer> buffer = AlignedBuffer::allocate(0);
    REQUIRE(buffer.ok());
    CHECK(buffer->size_bytes() == 0);
    CHECK(buffer->as<float>().empty());
}

TEST_CASE("A size that cannot be had is out_of_memory with the bytes asked for") {
    for (const size_t size : {SIZE_MAX, SIZE_MAX - 60, SIZE_MAX / 2, size_t{1} << 50}) {
        const Result<AlignedBuffer> buffer = AlignedBuffer::allocate(size);
        REQUIRE_FALSE(buffer.ok());
        CHECK(buffer.status().code() == StatusCode::out_of_memory);
        CHECK(buffer.status().message().find(std::to_string(size)) != std::string::npos);
    }
}

TEST_CASE("A moved buffer keeps its bytes") {
    Result<AlignedBuffer> first = AlignedBuffer::allocate(256);
    REQUIRE(first.ok());
    first->as<uint32_t>()[3] = 7;
    const AlignedBuffer second = std::move(*first);
    CHECK(second.as<uint32_t>()[3] == 7);
}
