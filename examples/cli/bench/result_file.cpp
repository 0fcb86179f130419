// One write a line on a descriptor that appends; a lock keeps two runs apart.
#include "bench/result_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <algorithm>

#include <fmt/format.h>

#include "failure.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

// Failure unless all lines are results.
ResultLines results_of(const std::string& path, std::string_view text) {
    ResultLines lines = parse_result_lines(text);
    if (lines.foreign_line != 0)
        throw Failure(
            fmt::format("{} is no file of takt bench results: line {} is none.", path, lines.foreign_line));
    return lines;
}

void note(const std::string& text) {
    write_stderr(fmt::format("takt: note: {}\n", text));
}

}  // namespace

ResultFile::ResultFile(std::string path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) fail("Opening");
    try {
        struct stat info{};
        if (::fstat(descriptor_, &info) != 0) fail("Opening");
        if (!S_ISREG(info.st_mode)) throw Failure(fmt::format("{} is no regular file.", path_));
        if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
            throw Failure(fmt::format("Another run writes to {}.", path_));
        read_and_repair();
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

ResultFile::~ResultFile() {
    ::close(descriptor_);
}

void ResultFile::read_and_repair() {
    const std::string text = read_file(path_);
    ResultLines lines = results_of(path_, text);
    results_ = std::move(lines.results);
    if (lines.whole_bytes < text.size()) {
        if (::ftruncate(descriptor_, static_cast<off_t>(lines.whole_bytes)) != 0) fail("Repairing");
        note(fmt::format("The last line of {} was cut short and is taken off.", path_));
    } else if (lines.lacks_line_end && ::write(descriptor_, "\n", 1) != 1) {
        fail("Repairing");
    }
}

const Json* ResultFile::find(const Json& wanted) const {
    const auto found = std::find_if(results_.begin(), results_.end(),
                                    [&](const Json& result) { return same_test(result, wanted); });
    return found == results_.end() ? nullptr : &*found;
}

void ResultFile::append(const Json& result) {
    const std::string line = json_line(result);
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("Writing");
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    results_.push_back(result);
}

void ResultFile::fail(const char* verb) const {
    throw Failure(fmt::format("{} {} failed: {}.", verb, path_, std::strerror(errno)));
}

std::vector<Json> read_results(const std::string& path) {
    const std::string text = read_file(path);
    ResultLines lines = results_of(path, text);
    if (lines.whole_bytes < text.size()) note(fmt::format("The last line of {} is cut short.", path));
    if (lines.results.empty()) throw Failure(fmt::format("{} holds no result.", path));
    return std::move(lines.results);
}

}  // namespace cli
