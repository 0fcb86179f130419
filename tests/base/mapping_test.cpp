// Memory and files mapped into the address space.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/os.h"
#include "temporary_folder.h"

using namespace takt;

TEST_CASE("mapped memory is zero, aligned to a huge page, and as large as asked") {
    for (const size_t size : {size_t{1}, size_t{4097}, os::kHugePageBytes, 3 * os::kHugePageBytes + 5}) {
        Result<os::Mapping> memory = os::map_zeros(size);
        REQUIRE(memory.ok());
        REQUIRE(memory->size_bytes() == size);
        CHECK(reinterpret_cast<uintptr_t>(memory->data()) % os::kHugePageBytes == 0);
        CHECK(std::all_of(memory->data(), memory->data() + size,
                          [](std::byte b) { return b == std::byte{0}; }));
        std::memset(memory->data(), 7, size);
        os::Mapping moved = std::move(*memory);
        CHECK(moved.data()[size - 1] == std::byte{7});
        CHECK(memory->size_bytes() == 0);
    }
    CHECK(os::map_zeros(0)->size_bytes() == 0);
}

TEST_CASE("more mapped memory than there is address space is an error that names the size") {
    for (const size_t size : {SIZE_MAX, SIZE_MAX / 2}) {
        const Result<os::Mapping> memory = os::map_zeros(size);
        REQUIRE_FALSE(memory.ok());
        CHECK(memory.status().code() == StatusCode::out_of_memory);
        CHECK(memory.status().message().find(std::to_string(size)) != std::string::npos);
    }
}

TEST_CASE("a mapped file holds the file's bytes, also when its name is gone") {
    const test::TemporaryFolder folder;
    const std::string text(10000, 'x'), path = folder.write("file", text);
    Result<os::OpenedFile> file = os::open_regular_file(path);
    REQUIRE(file.ok());
    CHECK(file->modified_ns > 1'600'000'000'000'000'000);
    const Result<os::Mapping> mapping = os::map_file(file->handle, file->size_bytes, path);
    REQUIRE(mapping.ok());
    std::filesystem::remove(path);
    CHECK(std::string_view(reinterpret_cast<const char*>(mapping->data()), mapping->size_bytes()) == text);
}

TEST_CASE("a folder is made once, and not where a file stands") {
    const test::TemporaryFolder folder;
    CHECK(os::make_folder(folder.file("new")).ok());
    CHECK(os::make_folder(folder.file("new")).ok());
    CHECK(std::filesystem::is_directory(folder.file("new")));
    folder.write("file", std::string("x"));
    CHECK(os::make_folder(folder.file("file")).code() == StatusCode::file_io);
    CHECK(os::make_folder(folder.file("none/new")).code() == StatusCode::file_not_found);
    CHECK(os::make_folder("").code() == StatusCode::invalid_argument);
}
