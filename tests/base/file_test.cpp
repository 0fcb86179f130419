// Positioned reads from files, descriptors and memory; what is no regular file; atomic writes.
#include "base/file.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary_folder.h"

using namespace takt;
using takt::test::TemporaryFolder;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string read_text(const ByteSource& source, uint64_t offset, size_t size) {
    std::string text(size, '?');
    const Status status = source.read_at(offset, std::as_writable_bytes(std::span(text)));
    return status.ok() ? text : status.message();
}

std::string whole_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void check_refused(const std::string& path, StatusCode code, const std::string& words) {
    const auto source = open_file(path);
    INFO(path << ": " << source.status().message());
    REQUIRE_FALSE(source.ok());
    CHECK(source.status().code() == code);
    CHECK(source.status().message().find(words) != std::string::npos);
}

size_t files_in(const std::string& folder) {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("A file is read at any position, and nothing is read past its end") {
    const TemporaryFolder folder;
    const auto source = open_file(folder.write("a", "0123456789"));
    REQUIRE(source.ok());
    CHECK((*source)->size_bytes() == 10);
    CHECK((*source)->name() == folder.file("a"));
    CHECK(read_text(**source, 3, 4) == "3456");
    CHECK(read_text(**source, 0, 10) == "0123456789");
    CHECK(read_text(**source, 10, 0).empty());
    std::array<std::byte, 4> out{};
    CHECK((*source)->read_at(7, out).code() == StatusCode::file_truncated);
    CHECK((*source)->read_at(UINT64_MAX - 1, out).code() == StatusCode::file_truncated);
}

TEST_CASE("A file that shrinks after it was opened gives file_truncated, not a signal") {
    const TemporaryFolder folder;
    const std::string path = folder.write("a", std::string(100000, 'x'));
    const auto source = open_file(path);
    REQUIRE(source.ok());
    REQUIRE(truncate(path.c_str(), 5000) == 0);
    std::vector<std::byte> out(4096);
    CHECK((*source)->read_at(0, out).ok());
    const Status status = (*source)->read_at(4000, out);
    CHECK(status.code() == StatusCode::file_truncated);
    CHECK(status.message().find(path) != std::string::npos);
}

TEST_CASE("What is no regular file is refused by what it is, without waiting") {
    const TemporaryFolder folder;
    const std::string fifo = folder.file("fifo");
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    check_refused(fifo, StatusCode::file_io, "a FIFO");
    check_refused(folder.file(""), StatusCode::file_io, "a directory");
    check_refused("/dev/zero", StatusCode::file_io, "a device");
    check_refused(folder.file("missing"), StatusCode::file_not_found, "missing");
    check_refused(folder.write("plain", "x") + "/below", StatusCode::file_not_found, "below");
    check_refused("", StatusCode::invalid_argument, "empty");
    check_refused(std::string("a\0b", 3), StatusCode::invalid_argument, "zero byte");
    REQUIRE(symlink("loop", folder.file("loop").c_str()) == 0);
    check_refused(folder.file("loop"), StatusCode::file_io, "loop");
}

TEST_CASE("A descriptor's part is a source of its own, and the caller may close the descriptor") {
    const TemporaryFolder folder;
    const int descriptor = open(folder.write("a", "0123456789").c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(descriptor >= 0);
    const auto part = open_descriptor(descriptor, 2, 5);
    const auto rest = open_descriptor(descriptor, 4, 0);
    const auto too_long = open_descriptor(descriptor, 6, 5);
    const auto wrapping = open_descriptor(descriptor, 6, UINT64_MAX - 2);
    const std::string name = "file descriptor " + std::to_string(descriptor);
    CHECK(lseek(descriptor, 0, SEEK_CUR) == 0);
    close(descriptor);

    REQUIRE(part.ok());
    CHECK((*part)->size_bytes() == 5);
    CHECK((*part)->name() == name);
    CHECK(read_text(**part, 0, 5) == "23456");
    std::array<std::byte, 2> out{};
    CHECK((*part)->read_at(4, out).code() == StatusCode::file_truncated);
    REQUIRE(rest.ok());
    CHECK(read_text(**rest, 0, 6) == "456789");
    CHECK(too_long.status().code() == StatusCode::file_truncated);
    CHECK(wrapping.status().code() == StatusCode::file_truncated);
}

TEST_CASE("A descriptor that is closed, a pipe or only for writing is refused") {
    const TemporaryFolder folder;
    CHECK(open_descriptor(-1, 0, 0).status().code() == StatusCode::invalid_argument);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(open_descriptor(ends[0], 0, 0).status().message().find("pipe") != std::string::npos);
    close(ends[0]);
    close(ends[1]);
    const int writer = open(folder.write("a", "x").c_str(), O_WRONLY | O_CLOEXEC);
    CHECK(open_descriptor(writer, 0, 0).status().code() == StatusCode::invalid_argument);
    close(writer);
}

TEST_CASE("Memory is a source as well") {
    const std::string text = "0123456789";
    const auto source = borrow_memory(bytes_of(text));
    CHECK(source->size_bytes() == 10);
    CHECK(source->name() == "memory");
    CHECK(read_text(*source, 6, 4) == "6789");
    std::array<std::byte, 2> out{};
    CHECK(source->read_at(9, out).code() == StatusCode::file_truncated);
    CHECK(borrow_memory({})->read_at(0, {}).ok());
}

TEST_CASE("An atomic write makes or replaces the file, keeps its mode and leaves nothing else behind") {
    const TemporaryFolder folder;
    const std::string path = folder.file("state");
    REQUIRE(write_file_atomically(path, bytes_of("first")).ok());
    CHECK(whole_file(path) == "first");
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    REQUIRE(write_file_atomically(path, bytes_of("second")).ok());
    CHECK(whole_file(path) == "second");
    struct stat info{};
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    REQUIRE(write_file_atomically(path, {}).ok());
    CHECK(whole_file(path).empty());
    CHECK(files_in(folder.file("")) == 1);
}

TEST_CASE("A write that fails says so and leaves the old file whole") {
    const TemporaryFolder folder;
    CHECK(write_file_atomically(folder.file("none/state"), bytes_of("x")).code() ==
          StatusCode::file_not_found);
    CHECK(write_file_atomically("", bytes_of("x")).code() == StatusCode::invalid_argument);
    CHECK(write_file_atomically("/dev/null", bytes_of("x")).code() == StatusCode::file_io);
    std::filesystem::create_directory(folder.file("taken"));
    CHECK(write_file_atomically(folder.file("taken"), bytes_of("x")).code() == StatusCode::file_io);
    const std::string long_name(300, 'n');
    CHECK(write_file_atomically(folder.file(long_name), bytes_of("x")).code() == StatusCode::file_io);
    CHECK(files_in(folder.file("")) == 1);
}
