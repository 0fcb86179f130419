// Bytes at positions: a file by path, a part of a file descriptor, or caller's memory. And atomic writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"

namespace takt {

// Thread-safe: read_at has no position of its own. Errors name the source.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    virtual uint64_t size_bytes() const = 0;      // as it was when opened
    virtual const std::string& name() const = 0;  // the path, "file descriptor 5", "memory"
    // What it was opened by; "" for a descriptor or memory, which can't tell what lies beside them.
    virtual std::string path() const { return {}; }
    // When the file behind it was last changed, in ns since 1970; nothing for memory.
    virtual std::optional<int64_t> modified_ns() const { return std::nullopt; }
    // Fills `out` whole or fails: a file that became shorter gives file_truncated, never a signal.
    virtual Status read_at(uint64_t offset, std::span<std::byte> out) const = 0;
};

// Regular files only: folders, FIFOs and devices are refused by name before a byte is read.
Result<std::shared_ptr<const ByteSource>> open_file(const std::string& path);
// The descriptor is duplicated; the caller keeps and may close its own. length 0 means to the end of the
// file.
Result<std::shared_ptr<const ByteSource>> open_descriptor(int descriptor, uint64_t offset, uint64_t length);
// Borrowed until the returned source is gone.
std::shared_ptr<const ByteSource> borrow_memory(std::span<const std::byte> bytes);

// Writes a temporary sibling, syncs it and renames it over `path`: the old file stays whole on any failure.
Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace takt
