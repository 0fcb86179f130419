// Writes, maps and checks the file that packed_cache.h describes.
#include "cpu/packed_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "base/checksum.h"
#include "base/file.h"
#include "cpu/kernels/packed_form.h"

namespace takt::cpu {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kSectionBytes = size_t{1} << 20;
constexpr size_t kPageBytes = 4096;
// Samples: of so many weights at most, spread over the file, so many bytes from the middle.
constexpr size_t kSampledWeights = 64, kSampleBytes = 4096;

std::span<const std::byte> section(std::span<const std::byte> block, size_t index) {
    const size_t begin = index * kSectionBytes;
    return block.subspan(begin, std::min(kSectionBytes, block.size() - begin));
}

uint64_t hash_text(std::string_view text, uint64_t seed) {
    return checksum64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

uint64_t hash_layout(const Program& program, const WeightLayout& layout) {
    uint64_t hash = kPanelFormat;
    for (size_t i = 0; i < layout.places.size(); ++i) {
        const WeightDecl& weight = program.weights[i];
        const WeightPlace& place = layout.places[i];
        // Both types, so that a change of what a type runs as is another layout.
        const DType stored = packed_form(weight.dtype).stored;
        const uint64_t types = static_cast<uint64_t>(weight.dtype) |
                               (stored == weight.dtype ? 0 : static_cast<uint64_t>(stored) + 1) << 32;
        const std::array<uint64_t, 10> numbers = {types,
                                                  weight.rows,
                                                  weight.columns,
                                                  place.matrix,
                                                  place.vector,
                                                  place.matrix_offset,
                                                  place.vector_offset,
                                                  weight.runs.first_row,
                                                  weight.runs.run_rows,
                                                  weight.runs.run_stride};
        hash = hash_text(weight.name, checksum64(std::as_bytes(std::span(numbers)), hash));
    }
    return hash;
}

// A model trained on keeps its metadata, its size and, in an archive, its time, but not its weights.
Result<uint64_t> hash_samples(const Program& program, const WeightSource& source) {
    const size_t step = std::max<size_t>(1, program.weights.size() / kSampledWeights);
    uint64_t hash = 0;
    std::vector<std::byte> sample;
    for (size_t i = 0; i < program.weights.size(); i += step) {
        const WeightDecl& weight = program.weights[i];
        const uint64_t bytes = file_bytes(weight);
        sample.resize(static_cast<size_t>(std::min<uint64_t>(kSampleBytes, bytes)));
        const uint64_t first = weight.runs.first_row * row_bytes(weight.dtype, weight.columns);
        TAKT_RETURN_IF_ERROR(source.read(weight.name, first + (bytes - sample.size()) / 2, sample));
        hash = checksum64(sample, hash);
    }
    return hash;
}

uint64_t header_checksum(std::span<const std::byte> head) {
    return checksum64(head.subspan(16));  // behind magic, version and itself
}

}  // namespace

Result<PackedCache> PackedCache::of(const std::string& folder, const Program& program,
                                    const WeightLayout& layout, const WeightSource& source) {
    const std::optional<SourceIdentity> identity = source.identity();
    if (!identity) return Status(StatusCode::unsupported, "the model isn't read from a file of its own.");
    const Result<uint64_t> samples = hash_samples(program, source);
    if (!samples.ok()) return samples.status();
    PackedCache cache;
    Header& header = cache.header_;
    std::copy_n("TAKT", 4, header.magic);
    header.version = kVersion;
    header.layout = hash_layout(program, layout);
    header.source_bytes = identity->size_bytes;
    header.source_modified_ns = identity->modified_ns;
    header.fingerprint = source.fingerprint();
    header.samples = *samples;
    header.block_bytes = layout.total_bytes;
    cache.folder_ = folder;
    cache.path_ = fmt::format("{}/{:016x}-{}.packed", folder, header.fingerprint, header.source_bytes);
    return cache;
}

size_t PackedCache::n_sections() const {
    return (header_.block_bytes + kSectionBytes - 1) / kSectionBytes;
}

size_t PackedCache::block_offset() const {
    const size_t head = sizeof(Header) + n_sections() * sizeof(uint64_t);
    return (head + kPageBytes - 1) / kPageBytes * kPageBytes;
}

Status PackedCache::check_header(const Header& found) const {
    const auto refuse = [](std::string why) { return Status(StatusCode::file_invalid, std::move(why)); };
    if (std::memcmp(found.magic, header_.magic, sizeof found.magic) != 0)
        return refuse("it is another kind of file");
    if (found.version != header_.version)
        return refuse(fmt::format("its version is {}, this takt's is {}", found.version, header_.version));
    if (found.layout != header_.layout || found.block_bytes != header_.block_bytes)
        return refuse("it was packed in another form");
    if (found.source_bytes != header_.source_bytes || found.fingerprint != header_.fingerprint ||
        found.source_modified_ns != header_.source_modified_ns || found.samples != header_.samples) {
        return refuse("the model file has changed since");
    }
    return {};
}

Result<PackedCache::Mapped> PackedCache::open(ThreadPool& pool) const {
    Result<os::OpenedFile> file = os::open_regular_file(path_);
    if (!file.ok()) return file.status();
    const uint64_t expected = block_offset() + header_.block_bytes;
    Header found{};
    const Result<size_t> read =
        os::read_at(file->handle, 0, std::as_writable_bytes(std::span(&found, 1)), path_);
    if (!read.ok()) return read.status();
    if (*read == sizeof found) TAKT_RETURN_IF_ERROR(check_header(found));
    if (file->size_bytes != expected) {
        return Status(StatusCode::file_truncated,
                      fmt::format("it has {} bytes, {} are needed", file->size_bytes, expected));
    }
    Result<os::Mapping> mapping = os::map_file(file->handle, expected, path_);
    if (!mapping.ok()) return mapping.status();
    const std::span<const std::byte> bytes(std::as_const(*mapping).data(), expected);
    const std::span<const std::byte> head = bytes.first(sizeof(Header) + n_sections() * sizeof(uint64_t));
    if (header_checksum(head) != found.checksum)
        return Status(StatusCode::file_invalid, "its header is damaged");
    std::vector<uint64_t> table(n_sections());
    if (!table.empty()) std::memcpy(table.data(), head.data() + sizeof(Header), head.size() - sizeof(Header));
    const std::span<const std::byte> block = bytes.subspan(block_offset());
    std::atomic<size_t> damaged{SIZE_MAX};
    pool.run(static_cast<uint32_t>(table.size()), [&](uint32_t i, uint32_t) {
        if (damaged.load(std::memory_order_relaxed) == SIZE_MAX && checksum64(section(block, i)) != table[i])
            damaged.store(i, std::memory_order_relaxed);
    });
    if (damaged != SIZE_MAX)
        return Status(StatusCode::file_invalid,
                      fmt::format("section {} of {} is damaged", damaged.load(), table.size()));
    return Mapped{std::move(*mapping), block};
}

Status PackedCache::write(std::span<const std::byte> block, ThreadPool& pool) const {
    std::vector<std::byte> head(block_offset());
    std::vector<uint64_t> table(n_sections());
    pool.run(static_cast<uint32_t>(table.size()),
             [&](uint32_t i, uint32_t) { table[i] = checksum64(section(block, i)); });
    Header header = header_;
    std::memcpy(head.data(), &header, sizeof header);
    if (!table.empty())
        std::memcpy(head.data() + sizeof header, table.data(), table.size() * sizeof(uint64_t));
    header.checksum = header_checksum(std::span(head).first(sizeof header + table.size() * sizeof(uint64_t)));
    std::memcpy(head.data(), &header, sizeof header);
    TAKT_RETURN_IF_ERROR(os::make_folder(folder_));
    const std::array<std::span<const std::byte>, 2> parts = {head, block};
    return os::replace_file(path_, parts);
}

}  // namespace takt::cpu
