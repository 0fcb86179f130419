// Files that come into being whole, on Linux.
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/os.h"
#include "base/os_linux_paths.h"

namespace takt::os {
namespace {

// One write call moves less than 2 GiB on Linux anyway.
constexpr size_t kLargestTransfer = size_t{1} << 30;

std::string error_text(int error) {
    return std::system_category().message(error);
}

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a FIFO or pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISSOCK(mode)) return "a socket";
    return "something else";
}

// A process over its limit for files would be ended by SIGXFSZ.
Status check_file_limit(uint64_t end, const std::string& name) {
    struct rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || end <= limit.rlim_cur) return {};
    return Status(StatusCode::file_io, fmt::format("Writing {} failed: {} bytes are over the limit of {}.",
                                                   name, end, uint64_t{limit.rlim_cur}));
}

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

// A new file of a name that nobody else has, in `folder`: a rename never leaves the file system.
Result<FileHandle> create_temporary(const std::string& folder, mode_t mode, std::string& out_path) {
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const auto stamp = std::chrono::steady_clock::now().time_since_epoch().count();
        out_path = fmt::format("{}/.takt-{}-{}.tmp", folder, getpid(), stamp);
        const int descriptor =
            open(out_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (descriptor >= 0) return FileHandle(descriptor);
        if (errno != EEXIST && errno != EINTR) return failed("Creating a file in", folder, errno);
    }
    return Status(StatusCode::file_io, fmt::format("No free temporary name in {}.", folder));
}

}  // namespace

Status failed(const char* doing, const std::string& name, int error) {
    const bool missing = error == ENOENT || error == ENOTDIR;
    return Status(missing ? StatusCode::file_not_found : StatusCode::file_io,
                  fmt::format("{} {} failed: {}.", doing, name, error_text(error)));
}

Status check_regular(const std::string& name, const struct stat& info) {
    if (S_ISREG(info.st_mode)) return {};
    return Status(StatusCode::file_io,
                  fmt::format("{} is {}, not a regular file.", name, kind_of(info.st_mode)));
}

Status check_path(const std::string& path) {
    if (path.empty()) return Status(StatusCode::invalid_argument, "The path is empty.");
    if (path.find('\0') != std::string::npos) {
        return Status(StatusCode::invalid_argument, "The path holds a zero byte.");
    }
    return {};
}

Result<NewFile> NewFile::create(const std::string& path) {
    TAKT_RETURN_IF_ERROR(check_path(path));
    mode_t mode = 0666;
    struct stat old{};
    if (stat(path.c_str(), &old) == 0) {
        TAKT_RETURN_IF_ERROR(check_regular(path, old));
        mode = old.st_mode & 0777;
    }
    NewFile file;
    file.path_ = path;
    std::string temporary;
    Result<FileHandle> handle = create_temporary(folder_of(path), mode, temporary);
    if (!handle.ok()) return handle.status().with_context(fmt::format("writing {}", path));
    file.handle_ = std::move(*handle);
    file.temporary_ = std::move(temporary);
    return file;
}

NewFile::NewFile(NewFile&& other) noexcept
    : handle_(std::move(other.handle_)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})) {}

NewFile::~NewFile() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status NewFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
    TAKT_RETURN_IF_ERROR(check_file_limit(offset + bytes.size(), path_));
    while (!bytes.empty()) {
        const ssize_t written = pwrite(handle_.descriptor(), bytes.data(),
                                       std::min(bytes.size(), kLargestTransfer), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return failed("Writing", path_, errno);
        bytes = bytes.subspan(static_cast<size_t>(written));
        offset += static_cast<uint64_t>(written);
    }
    return {};
}

Status NewFile::finish() {
    if (fsync(handle_.descriptor()) != 0) return failed("Syncing", path_, errno);
    if (rename(temporary_.c_str(), path_.c_str()) != 0) return failed("Renaming to", path_, errno);
    temporary_.clear();
    // The name itself lasts only when the folder is synced. Some file systems refuse that; the file is whole
    // either way.
    const FileHandle folder(open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.descriptor() >= 0) fsync(folder.descriptor());
    return {};
}

Status replace_file(const std::string& path, std::span<const std::span<const std::byte>> parts) {
    Result<NewFile> file = NewFile::create(path);
    if (!file.ok()) return file.status();
    uint64_t total = 0;
    for (const std::span<const std::byte> part : parts) total += part.size();
    TAKT_RETURN_IF_ERROR(check_file_limit(total, path));
    uint64_t at = 0;
    for (const std::span<const std::byte> part : parts) {
        TAKT_RETURN_IF_ERROR(file->write_at(at, part));
        at += part.size();
    }
    return file->finish();
}

bool same_file(const std::string& a, const std::string& b) {
    struct stat first{}, second{};
    return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

}  // namespace takt::os
