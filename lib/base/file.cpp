// Byte sources over files, descriptors and memory.
#include "base/file.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/os.h"

namespace takt {
namespace {

Status past_end(const std::string& name, uint64_t offset, size_t wanted, uint64_t size) {
    return Status(StatusCode::file_truncated,
                  fmt::format("{}: {} bytes at {} reach past the end of file, which has {} bytes.", name,
                              wanted, offset, size));
}

bool inside(uint64_t offset, uint64_t length, uint64_t size) {
    return offset <= size && length <= size - offset;
}

class FileSource final : public ByteSource {
public:
    FileSource(os::OpenedFile file, std::string name, bool by_path, uint64_t start, uint64_t size)
        : handle_(std::move(file.handle)),
          modified_ns_(file.modified_ns),
          name_(std::move(name)),
          by_path_(by_path),
          start_(start),
          size_(size) {}

    uint64_t size_bytes() const override { return size_; }
    const std::string& name() const override { return name_; }
    std::string path() const override { return by_path_ ? name_ : std::string(); }
    std::optional<int64_t> modified_ns() const override { return modified_ns_; }
    Status read_at(uint64_t offset, std::span<std::byte> out) const override {
        if (!inside(offset, out.size(), size_)) return past_end(name_, offset, out.size(), size_);
        const Result<size_t> got = os::read_at(handle_, start_ + offset, out, name_);
        if (!got.ok()) return got.status();
        if (*got == out.size()) return {};
        return Status(StatusCode::file_truncated,
                      fmt::format("{} was truncated while in use: {} bytes wanted at {}, {} are left.", name_,
                                  out.size(), offset, *got));
    }

private:
    os::FileHandle handle_;
    int64_t modified_ns_;  // when it was opened
    std::string name_;
    bool by_path_;
    uint64_t start_;  // of this source, in the file
    uint64_t size_;
};

class MemorySource final : public ByteSource {
public:
    explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}

    uint64_t size_bytes() const override { return bytes_.size(); }
    const std::string& name() const override { return name_; }
    Status read_at(uint64_t offset, std::span<std::byte> out) const override {
        if (!inside(offset, out.size(), bytes_.size()))
            return past_end(name_, offset, out.size(), bytes_.size());
        if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
        return {};
    }

private:
    std::span<const std::byte> bytes_;
    std::string name_ = "memory";
};

}  // namespace

Result<std::shared_ptr<const ByteSource>> open_file(const std::string& path) {
    Result<os::OpenedFile> file = os::open_regular_file(path);
    if (!file.ok()) return file.status();
    const uint64_t size = file->size_bytes;
    return std::shared_ptr<const ByteSource>(
        std::make_shared<FileSource>(std::move(*file), path, true, 0, size));
}

Result<std::shared_ptr<const ByteSource>> open_descriptor(int descriptor, uint64_t offset, uint64_t length) {
    std::string name = fmt::format("file descriptor {}", descriptor);
    Result<os::OpenedFile> file = os::duplicate_regular_file(descriptor, name);
    if (!file.ok()) return file.status();
    const uint64_t file_size = file->size_bytes;
    if (!inside(offset, length, file_size)) {
        return Status(StatusCode::file_truncated,
                      fmt::format("{} has {} bytes; the part of {} bytes at {} reaches past the end of file.",
                                  name, file_size, length, offset));
    }
    const uint64_t size = length != 0 ? length : file_size - offset;
    return std::shared_ptr<const ByteSource>(
        std::make_shared<FileSource>(std::move(*file), std::move(name), false, offset, size));
}

std::shared_ptr<const ByteSource> borrow_memory(std::span<const std::byte> bytes) {
    return std::make_shared<MemorySource>(bytes);
}

Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
    return os::replace_file(path, {&bytes, 1});
}

}  // namespace takt
