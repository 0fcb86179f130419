// POSIX calls of the command, each with its error turned into a sentence.
#include "system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "failure.h"

namespace cli {
namespace {

std::string reason(int error) {
    std::string text = std::strerror(error);
    return text;
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::string read_all(int descriptor, std::string_view name) {
    std::string bytes;
    char buffer[1 << 16];
    for (;;) {
        const ssize_t n = ::read(descriptor, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) {
            check_interrupted();
            continue;
        }
        if (n < 0) throw Failure(fmt::format("Reading {} failed: {}.", name, reason(errno)));
        if (n == 0) return bytes;
        bytes.append(buffer, static_cast<std::size_t>(n));
    }
}

}  // namespace

void prepare_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
        // Opened for the other direction, so that writing to a closed stdout is an error as before.
        static_cast<void>(::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR));
    }
}

void write_stdout(std::string_view bytes) {
    if (!write_all(STDOUT_FILENO, bytes))
        throw Failure(fmt::format("Writing to standard output failed: {}.", reason(errno)));
}

void write_stderr(std::string_view bytes) noexcept {
    static_cast<void>(write_all(STDERR_FILENO, bytes));
}

bool stdin_is_terminal() {
    return ::isatty(STDIN_FILENO) == 1;
}
bool stdout_is_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
    return ::isatty(STDERR_FILENO) == 1;
}

std::string read_stdin() {
    return read_all(STDIN_FILENO, "standard input");
}

std::string read_file(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw Failure(fmt::format("Opening {} failed: {}.", path, reason(errno)));
    try {
        std::string bytes = read_all(descriptor, path);
        ::close(descriptor);
        return bytes;
    } catch (...) {
        ::close(descriptor);
        throw;
    }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    struct stat info{};
    const bool in_place = ::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
    if (in_place) {
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
        temporary_ = fmt::format("{}.{}.tmp", path_, ::getpid());
        descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0) temporary_.clear();
    }
    if (descriptor_ < 0) fail();
}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* bytes, std::size_t size) {
    if (!write_all(descriptor_, {static_cast<const char*>(bytes), size})) fail();
}

void OutputFile::commit() {
    if (!temporary_.empty() && ::fsync(descriptor_) != 0) fail();
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail();
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
    temporary_.clear();
}

void OutputFile::fail() const {
    const int error = errno;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    throw Failure(fmt::format("Writing {} failed: {}.", path_, reason(error)));
}

}  // namespace cli
