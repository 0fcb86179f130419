// What takt asks of the operating system, in the few words it needs. os_<system>.cpp answers; nobody else
// calls the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"

namespace takt::os {

// Owns one open file descriptor.
class FileHandle {
public:
    FileHandle() = default;
    explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
    FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    FileHandle& operator=(FileHandle&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    FileHandle(const FileHandle&) = delete;
    FileHandle& operator=(const FileHandle&) = delete;
    ~FileHandle();
    int descriptor() const { return descriptor_; }

private:
    int descriptor_ = -1;
};

struct OpenedFile {
    FileHandle handle;
    uint64_t size_bytes = 0;
    int64_t modified_ns = 0;  // since 1970
};

// Anything but a regular file is refused by what it is ("is a directory"), without waiting for a FIFO's
// writer.
Result<OpenedFile> open_regular_file(const std::string& path);
// A copy of the caller's descriptor, under the same rule; `name` stands in the sentences.
Result<OpenedFile> duplicate_regular_file(int descriptor, const std::string& name);
// Reads at `offset` until `out` is full or the file ends; gives the bytes read. Interrupted and short reads
// go on.
Result<size_t> read_at(const FileHandle& file, uint64_t offset, std::span<std::byte> out,
                       const std::string& name);
// A file that comes into being whole: written under another name in the same folder, renamed by finish(). One
// that isn't finished is gone with the object, and whatever had its name stays.
class NewFile {
public:
    static Result<NewFile> create(const std::string& path);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();
    // Thread-safe. What is left out reads as zeros.
    Status write_at(uint64_t offset, std::span<const std::byte> bytes);
    Status finish();

private:
    NewFile() = default;
    FileHandle handle_;
    std::string path_, temporary_;
};
// Whether both paths lead to one file that is there.
bool same_file(const std::string& a, const std::string& b);
// See write_file_atomically in file.h.
Status replace_file(const std::string& path, std::span<const std::span<const std::byte>> parts);
// Only the last folder of the path; one that is there already is fine.
Status make_folder(const std::string& path);

// Owns a range of the address space: fresh zeros, or a file's bytes, which must not be written.
class Mapping {
public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept
        : first_(std::exchange(other.first_, nullptr)),
          mapped_(std::exchange(other.mapped_, 0)),
          bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(mapped_, other.mapped_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
    std::byte* data() { return bytes_.data(); }
    const std::byte* data() const { return bytes_.data(); }
    size_t size_bytes() const { return bytes_.size(); }

private:
    friend Result<Mapping> map_zeros(size_t size_bytes);
    friend Result<Mapping> map_file(const FileHandle& file, size_t size_bytes, const std::string& name);
    void* first_ = nullptr;  // of what the system gave
    size_t mapped_ = 0;
    std::span<std::byte> bytes_;
};

// In huge pages where the system gives them, so that what is read over and over costs fewer page walks and is
// faulted in 2 MiB at a time. Aligned to a huge page.
Result<Mapping> map_zeros(size_t size_bytes);
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
// Read-only. A file that becomes shorter afterwards ends the process with SIGBUS when the lost part is read:
// only for files that nobody changes in place.
Result<Mapping> map_file(const FileHandle& file, size_t size_bytes, const std::string& name);

// Logical CPUs that the process may run on, at least 1.
uint32_t allowed_cpus();
// Cores behind them: SMT siblings count once. `root` stands before /sys and is empty outside tests.
uint32_t allowed_cores(const std::string& root = "");
// Whole CPUs that the cgroups (v1 or v2) of the process grant, at least 1; UINT32_MAX without a quota.
uint32_t cgroup_cpus(const std::string& root = "");

// Runnable tasks over the last minute; nothing where the system doesn't tell.
std::optional<double> load_average(const std::string& root = "");
// How the first CPU's clock is chosen ("performance", "powersave"); "" where the system doesn't tell.
std::string cpu_governor(const std::string& root = "");

// A counter of energy that this process may read. It begins again at 0 after `range`.
struct EnergyCounter {
    std::string name;  // "package-0", "package-0 dram"
    uint64_t microjoules = 0, range = 0;
};
// Of the processors' packages and their memory (powercap); none where the system has or shows none.
std::vector<EnergyCounter> energy_counters(const std::string& root = "");

// Instructions that the system lists for this CPU; all false where it isn't Arm.
struct ArmFeatures {
    bool asimd = false, asimd_dotprod = false, i8mm = false;
};
ArmFeatures arm_features();

// Starts a named thread that the application's signals never interrupt. Crash signals stay, for the host's
// crash reporter. Throws what std::thread throws.
std::thread start_quiet_thread(const char* name, std::function<void()> body);

// How often this process was forked from one that already used takt: of threads that were started under
// another number nothing is left here.
uint32_t fork_generation();

// Remembers the process that it was made in.
class Birthplace {
public:
    // True in a child forked since: threads that were started beside this are not here.
    bool left() const { return generation_ != fork_generation(); }

private:
    uint32_t generation_ = fork_generation();
};

// The CPU that the calling thread runs on now; -1 where the system doesn't tell.
int current_cpu();
// Moves the calling thread to another CPU that it may run on, if there is one; it may come back later.
void leave_cpu(int cpu);

// Sleeps while `word` holds `expected`; may return early.
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t expected);
void wake(const std::atomic<uint32_t>& word, uint32_t n_waiters);

}  // namespace takt::os
