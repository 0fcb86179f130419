// A file that keeps the packed weights of a model, so that the next load maps it instead of packing.
//
//   0     magic "TAKT", u32 version
//   8     u64 checksum of the header behind it and of the table
//   16    u64 layout (types, shapes and places of all weights, and the panels' format), u64 bytes and i64
//   time
//         of the source, u64 fingerprint of its metadata, u64 checksum of samples of its weights, u64 bytes
//         of the block
//   64    table: a u64 checksum of every MiB of the block
//   then, from the next multiple of 4096 on, the block as CpuWeights holds it. Little-endian; any ISA's.
//
// Every section is checked before a file is used, by all threads. Checking on first use would save little:
// the first step reads every weight anyway, and the check is what brings the pages in. A file is written
// beside its place, synced and renamed, and never changed afterwards, so readers see all of it or an older
// one, however many processes write. Whoever makes it shorter in place while it is mapped brings SIGBUS on
// its readers: the folder must be one where only takt and its user write. The checksums don't tell a forgery.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/weight_source.h"
#include "base/os.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cpu/weight_layout.h"
#include "program/program.h"

namespace takt::cpu {

// Raised with every change of what pack_panel() writes; tests/cpu/packed_cache_test.cpp knows when.
inline constexpr uint32_t kPanelFormat = 1;

class PackedCache {
public:
    struct Mapped {
        os::Mapping file;
        std::span<const std::byte> block;
    };
    // Reads a few KB of the source. `unsupported` for one that isn't a file: nothing but all of its bytes
    // would tell whether it changed.
    static Result<PackedCache> of(const std::string& folder, const Program& program,
                                  const WeightLayout& layout, const WeightSource& source);

    const std::string& path() const { return path_; }
    // file_not_found where there is none; any other error says why the file is not used.
    Result<Mapped> open(ThreadPool& pool) const;
    // Makes the folder where it is missing.
    Status write(std::span<const std::byte> block, ThreadPool& pool) const;

private:
    struct Header {
        char magic[4];
        uint32_t version;
        uint64_t checksum, layout, source_bytes;
        int64_t source_modified_ns;
        uint64_t fingerprint, samples, block_bytes;
    };
    static_assert(sizeof(Header) == 64);

    PackedCache() = default;
    size_t n_sections() const;
    size_t block_offset() const;
    Status check_header(const Header& found) const;

    std::string folder_, path_;
    Header header_{};  // of a file as it must be, but for the checksum
};

}  // namespace takt::cpu
