// The file that keeps packed weights: what is mapped is what was packed, and nothing else is ever mapped.
#include "cpu/packed_cache.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>

#include "base/checksum.h"
#include "block_weights.h"
#include "cpu/cpu_weights.h"
#include "loader_program.h"
#include "temporary_folder.h"

using namespace takt;
using namespace takt::cpu;
using namespace takt::test;

namespace {

struct Fixture {
    std::shared_ptr<const Program> program = loader_program();
    WeightLayout layout = layout_weights(*program).value();
    ScriptedWeights source{*program, 1};
    TemporaryFolder folder;
    std::string cache_dir = folder.file("packed");
    std::vector<std::string> log;
    Logger logger{[this](LogLevel, std::string_view text) { log.emplace_back(text); }};
    ThreadPool pool{3};
    std::atomic<uint64_t> n_reads{0};

    Fixture() {
        source.before_read_ = [this](std::string_view, uint64_t) {
            ++n_reads;
            return Status();
        };
    }
    std::shared_ptr<const CpuWeights> load() {
        n_reads = 0;
        log.clear();
        auto weights = CpuWeights::load(*program, source, pool, {{}, cache_dir}, &logger);
        INFO(weights.status().message());
        REQUIRE(weights.ok());
        return std::dynamic_pointer_cast<const CpuWeights>(*weights);
    }
    // Samples alone are read of a source whose packed weights are mapped.
    bool was_mapped() const { return n_reads <= program->weights.size(); }
    std::string path() const { return PackedCache::of(cache_dir, *program, layout, source).value().path(); }
    std::vector<std::byte> packed() {
        return bytes_of(*std::dynamic_pointer_cast<const CpuWeights>(
            CpuWeights::load(*program, source, pool, {}).value()));
    }
    static std::vector<std::byte> bytes_of(const CpuWeights& weights) {
        return {weights.block().begin(), weights.block().end()};
    }
    size_t n_files() const {
        const auto all = std::filesystem::directory_iterator(cache_dir);
        return static_cast<size_t>(std::distance(begin(all), end(all)));
    }
    std::vector<char> read_file() const {
        std::ifstream in(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // As another process would leave it: never changed in place.
    void write_file(const std::vector<char>& bytes) const {
        std::ofstream(path() + ".new", std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        std::filesystem::rename(path() + ".new", path());
    }
    // The file is refused with one line that says why, the weights are right, and the file is right again.
    void check_refused(const std::string& why, const std::vector<std::byte>& expected) {
        INFO("expected: " << why);
        const auto weights = load();
        CHECK_FALSE(was_mapped());
        REQUIRE(log.size() == 1);
        INFO("logged: " << log[0]);
        CHECK(log[0].find(why) != std::string::npos);
        CHECK(log[0].find(path()) != std::string::npos);
        CHECK(bytes_of(*weights) == expected);
        load();
        CHECK(was_mapped());
        CHECK(log.empty());
        CHECK(n_files() == 1);
    }
};

}  // namespace

TEST_CASE("packed weights are written once and mapped from then on, bit for bit") {
    Fixture f;
    const std::vector<std::byte> expected = f.packed();
    const auto first = f.load();
    CHECK_FALSE(f.was_mapped());
    CHECK(f.log.empty());
    CHECK(f.n_files() == 1);
    const auto second = f.load();
    CHECK(f.was_mapped());
    CHECK(f.log.empty());
    CHECK(Fixture::bytes_of(*first) == expected);
    CHECK(Fixture::bytes_of(*second) == expected);
    CHECK(second->size_bytes() == first->size_bytes());
    // A mapping outlives the name.
    std::filesystem::remove_all(f.cache_dir);
    CHECK(Fixture::bytes_of(*second) == expected);
}

TEST_CASE("the progress of a mapped load ends at the whole, and can cancel it") {
    Fixture f;
    f.load();
    std::vector<uint64_t> done;
    const LoadProgress count = [&](uint64_t bytes, uint64_t total) {
        CHECK(total == f.layout.source_bytes);
        done.push_back(bytes);
        return true;
    };
    REQUIRE(CpuWeights::load(*f.program, f.source, f.pool, {count, f.cache_dir}).ok());
    CHECK(done == std::vector<uint64_t>{f.layout.source_bytes});
    const LoadProgress stop = [](uint64_t, uint64_t) { return false; };
    CHECK(CpuWeights::load(*f.program, f.source, f.pool, {stop, f.cache_dir}).status().code() ==
          StatusCode::cancelled);
}

TEST_CASE("a flipped bit anywhere in a packed file is found") {
    Fixture f;
    const std::vector<std::byte> expected = f.packed();
    f.load();
    const std::vector<char> good = f.read_file();
    REQUIRE(good.size() > f.layout.total_bytes);
    const size_t block = good.size() - f.layout.total_bytes;
    const PackedCache cache = PackedCache::of(f.cache_dir, *f.program, f.layout, f.source).value();
    REQUIRE(cache.open(f.pool).ok());
    const auto check = [&](size_t at, const std::string& why) {
        INFO("byte " << at << ", expected: " << why);
        std::vector<char> bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
        f.write_file(bad);
        const Status status = cache.open(f.pool).status();
        CHECK(status.code() == StatusCode::file_invalid);
        CHECK(status.message().find(why) != std::string::npos);
    };
    check(0, "another kind of file");
    check(5, "version");
    check(8, "header is damaged");
    check(16, "another form");
    for (const size_t field : {24, 32, 40, 48}) check(field + 3, "model file has changed");
    check(56, "another form");
    const size_t n_sections = (f.layout.total_bytes + (1 << 20) - 1) >> 20;
    REQUIRE(n_sections > 5);
    check(64 + 8 * (n_sections - 1), "header is damaged");
    for (size_t i = 0; i < n_sections; ++i) {
        const size_t size = std::min<size_t>(1 << 20, f.layout.total_bytes - (i << 20));
        const std::string why = "section " + std::to_string(i) + " of";
        check(block + (i << 20) + i * 7919 % size, why);
        if (i == 0) check(block, why);
        if (i + 1 == n_sections) check(good.size() - 1, why);
    }
    f.check_refused("section", expected);
}

TEST_CASE("a packed file of any other length is refused") {
    Fixture f;
    const std::vector<std::byte> expected = f.packed();
    f.load();
    const std::vector<char> good = f.read_file();
    const PackedCache cache = PackedCache::of(f.cache_dir, *f.program, f.layout, f.source).value();
    const size_t block = good.size() - f.layout.total_bytes;
    for (const size_t size : {size_t{0}, size_t{3}, size_t{63}, size_t{64}, size_t{100}, block - 1, block,
                              block + 1, good.size() / 2, good.size() - 1}) {
        INFO(size);
        f.write_file({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
        const Status status = cache.open(f.pool).status();
        CHECK(status.code() == StatusCode::file_truncated);
        CHECK(status.message().find(std::to_string(size) + " bytes") != std::string::npos);
    }
    std::vector<char> longer = good;
    longer.push_back(0);
    f.write_file(longer);
    f.check_refused("bytes", expected);
}

TEST_CASE("packed weights of a model file that changed are stale") {
    Fixture f;
    f.load();
    f.source.identity_->modified_ns += 1;
    f.check_refused("model file has changed", f.packed());
    // The same metadata, size and time with other weights: the samples differ.
    ScriptedWeights other(*f.program, 2);
    other.identity_ = f.source.identity_;
    const auto weights = CpuWeights::load(*f.program, other, f.pool, {{}, f.cache_dir}, &f.logger);
    REQUIRE(weights.ok());
    REQUIRE(f.log.size() == 1);
    CHECK(f.log[0].find("model file has changed") != std::string::npos);
    const auto alone = CpuWeights::load(*f.program, other, f.pool, {}).value();
    CHECK(Fixture::bytes_of(dynamic_cast<const CpuWeights&>(**weights)) ==
          Fixture::bytes_of(dynamic_cast<const CpuWeights&>(*alone)));
    // Other metadata or another size: another file beside it.
    f.source.fingerprint_ = 8;
    f.load();
    f.source.identity_->size_bytes += 1;
    f.load();
    CHECK(f.log.empty());
    CHECK(f.n_files() == 3);
}

TEST_CASE("a source that isn't a file keeps no packed weights") {
    Fixture f;
    f.source.identity_ = std::nullopt;
    f.load();
    REQUIRE(f.log.size() == 1);
    CHECK(f.log[0].find("isn't read from a file") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(f.cache_dir));
}

TEST_CASE("a folder that can't be written costs the cache, not the load") {
    Fixture f;
    const std::vector<std::byte> expected = f.packed();
    f.folder.write("file", std::string("x"));
    for (const std::string& folder :
         {f.folder.file("file"), f.folder.file("file/below"), f.folder.file("none/below"),
          std::string("/proc"), std::string("has\0zero", 8)}) {
        f.cache_dir = folder;
        INFO(folder);
        CHECK(Fixture::bytes_of(*f.load()) == expected);
        REQUIRE(f.log.size() >= 1);
        CHECK(f.log.back().find("are not kept") != std::string::npos);
    }
}

TEST_CASE("a file that can't grow to its size costs the cache, not the load") {
    Fixture f;
    const std::vector<std::byte> expected = f.packed();
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit small = before;
    small.rlim_cur = 1 << 20;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto weights = f.load();
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(Fixture::bytes_of(*weights) == expected);
    REQUIRE(f.log.size() == 1);
    CHECK(f.log[0].find("over the limit of 1048576") != std::string::npos);
    CHECK(f.n_files() == 0);
}

TEST_CASE("many loads that write one packed file at once all get the right weights") {
    Fixture f;
    const std::vector<std::byte> expected = f.packed();
    for (int round = 0; round < 3; ++round) {
        std::filesystem::remove_all(f.cache_dir);
        std::vector<std::vector<std::byte>> got(4);
        std::vector<std::thread> threads;
        for (std::vector<std::byte>& bytes : got) {
            threads.emplace_back([&f, &bytes] {
                ThreadPool pool(2);
                const auto weights =
                    CpuWeights::load(*f.program, f.source, pool, {{}, f.cache_dir}, &f.logger);
                if (weights.ok()) bytes = Fixture::bytes_of(dynamic_cast<const CpuWeights&>(**weights));
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (const std::vector<std::byte>& bytes : got) CHECK(bytes == expected);
        CHECK(f.n_files() == 1);
        CHECK(f.log.empty());
        f.load();
        CHECK(f.was_mapped());
    }
}

TEST_CASE("the panels' format is the one that kPanelFormat stands for") {
    // If this fails, what pack_panel() writes has changed: raise kPanelFormat and put the new numbers here,
    // or older packed files would be read as if they were of the new form.
    ThreadPool pool(1);
    uint64_t all = kPanelFormat;
    for (const DType dtype : kAllDTypes) {
        std::mt19937 random(3);
        std::vector<std::byte> blocks(21 * row_bytes(dtype, 512));
        for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
        const PackedMatrix matrix = pack_blocks(dtype, 21, 512, blocks, pool).value();
        all = checksum64({matrix.panels(), matrix.size_bytes()}, all);
    }
    CHECK(all == 0x6de4825daf2304eeu);
}
