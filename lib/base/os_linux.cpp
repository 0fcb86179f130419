// Files, threads and sleeping on Linux. The CPUs that the process may use are counted in os_linux_cpus.cpp.
#include "base/os.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/os_linux_paths.h"

namespace takt::os {
namespace {

// One read call moves less than 2 GiB on Linux anyway.
constexpr size_t kLargestTransfer = size_t{1} << 30;

Result<OpenedFile> checked_file(FileHandle handle, const std::string& name) {
    struct stat info{};
    if (fstat(handle.descriptor(), &info) != 0) return failed("Looking at", name, errno);
    TAKT_RETURN_IF_ERROR(check_regular(name, info));
    const int64_t modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    return OpenedFile{std::move(handle), static_cast<uint64_t>(info.st_size), modified_ns};
}

}  // namespace

FileHandle::~FileHandle() {
    if (descriptor_ >= 0) close(descriptor_);
}

Result<OpenedFile> open_regular_file(const std::string& path) {
    TAKT_RETURN_IF_ERROR(check_path(path));
    // Looked at before it is opened, because opening alone can wake a device; and again after, because paths
    // change.
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) return failed("Opening", path, errno);
    TAKT_RETURN_IF_ERROR(check_regular(path, info));
    int descriptor = -1;
    do {
        descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return failed("Opening", path, errno);
    return checked_file(FileHandle(descriptor), path);
}

Result<OpenedFile> duplicate_regular_file(int descriptor, const std::string& name) {
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0) return Status(StatusCode::invalid_argument, fmt::format("{} is not open.", name));
    if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH) != 0) {
        return Status(StatusCode::invalid_argument, fmt::format("{} is not open for reading.", name));
    }
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return failed("Duplicating", name, errno);
    return checked_file(FileHandle(copy), name);
}

Result<size_t> read_at(const FileHandle& file, uint64_t offset, std::span<std::byte> out,
                       const std::string& name) {
    size_t done = 0;
    while (done < out.size()) {
        const size_t wanted = std::min(out.size() - done, kLargestTransfer);
        const ssize_t got =
            pread(file.descriptor(), out.data() + done, wanted, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed("Reading", name, errno);
        if (got == 0) break;
        done += static_cast<size_t>(got);
    }
    return done;
}

Status make_folder(const std::string& path) {
    TAKT_RETURN_IF_ERROR(check_path(path));
    if (mkdir(path.c_str(), 0777) == 0) return {};
    const int error = errno;
    struct stat info{};
    if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
    return failed("Making the folder", path, error);
}

Mapping::~Mapping() {
    if (first_ != nullptr) munmap(first_, mapped_);
}

Result<Mapping> map_zeros(size_t size_bytes) {
    Mapping mapping;
    if (size_bytes == 0) return mapping;
    // A huge page more than asked for: the start is moved up to a whole one.
    const size_t wanted = size_bytes + kHugePageBytes;
    void* first = wanted < size_bytes
                      ? MAP_FAILED
                      : mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED) {
        return Status(StatusCode::out_of_memory,
                      fmt::format("Memory for {} bytes could not be had.", size_bytes));
    }
    const uintptr_t aligned =
        (reinterpret_cast<uintptr_t>(first) + kHugePageBytes - 1) & ~uintptr_t{kHugePageBytes - 1};
    mapping.first_ = first;
    mapping.mapped_ = wanted;
    mapping.bytes_ = {reinterpret_cast<std::byte*>(aligned), size_bytes};
    madvise(mapping.data(), size_bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
    return mapping;
}

Result<Mapping> map_file(const FileHandle& file, size_t size_bytes, const std::string& name) {
    Mapping mapping;
    if (size_bytes == 0) return mapping;
    void* first = mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (first == MAP_FAILED) return failed("Mapping", name, errno);
    mapping.first_ = first;
    mapping.mapped_ = size_bytes;
    mapping.bytes_ = {static_cast<std::byte*>(first), size_bytes};
    return mapping;
}

uint32_t fork_generation() {
    static std::atomic<uint32_t> generation{0};
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++generation; });
    static_cast<void>(registered);
    return generation.load(std::memory_order_relaxed);
}

std::thread start_quiet_thread(const char* name, std::function<void()> body) {
    sigset_t quiet;
    sigfillset(&quiet);
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&quiet, crash);
    // Set before the start and inherited, so that no signal finds the thread without its mask.
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &quiet, &before);
    try {
        std::thread thread(std::move(body));
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        pthread_setname_np(thread.native_handle(), name);
        return thread;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t expected) {
    static_assert(sizeof(word) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void wake(const std::atomic<uint32_t>& word, uint32_t n_waiters) {
    const uint32_t n = std::min<uint32_t>(n_waiters, INT_MAX);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}

}  // namespace takt::os
