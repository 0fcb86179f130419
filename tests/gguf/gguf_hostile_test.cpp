// Files that lie: every header field, string, count, shape, type and offset that could hurt, built here byte
// by byte.
#include "gguf/gguf_reader.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "gguf_builder.h"

using namespace takt;
using takt::test::GgufBuilder;
using Bytes = GgufBuilder::Bytes;

namespace {

constexpr uint64_t kMax = UINT64_MAX;

GgufBuilder llama() {
    GgufBuilder builder;
    builder.str("general.architecture", "llama");
    return builder;
}

struct BadFile {
    std::string what;
    StatusCode code;
    std::string words;  // all of them, parted by ';'
    std::function<void(GgufBuilder&)> spoil;
};

void check_refused(const BadFile& bad, const Bytes& bytes) {
    const auto file = GgufFile::open(borrow_memory(bytes));
    INFO(bad.what << ": " << file.status().message());
    REQUIRE_FALSE(file.ok());
    CHECK(file.status().code() == bad.code);
    std::string rest = bad.words + ";";
    for (size_t end; (end = rest.find(';')) != std::string::npos; rest.erase(0, end + 1)) {
        INFO("word: " << rest.substr(0, end));
        CHECK(file.status().message().find(rest.substr(0, end)) != std::string::npos);
    }
}

void check_all(const std::vector<BadFile>& files) {
    for (const BadFile& bad : files) {
        GgufBuilder builder = llama();
        bad.spoil(builder);
        check_refused(bad, builder.build());
    }
}

void nest(Bytes& out, int depth) {
    for (int i = 1; i < depth; ++i) {
        GgufBuilder::put<uint32_t>(out, 9);
        GgufBuilder::put<uint64_t>(out, 1);
    }
    GgufBuilder::put<uint32_t>(out, 0);
    GgufBuilder::put<uint64_t>(out, 0);
}

// A tensor whose data is there, whatever its shape says.
auto shaped(std::vector<uint64_t> dims, uint32_t type_id, size_t n_bytes = 4096) {
    return [=](GgufBuilder& builder) { builder.zeros("w", dims, type_id, n_bytes); };
}

constexpr auto kInvalid = StatusCode::file_invalid;
constexpr auto kUnsupported = StatusCode::file_unsupported;
constexpr auto kTruncated = StatusCode::file_truncated;

}  // namespace

TEST_CASE("A header that is not GGUF's is refused by what it is") {
    check_all({
        {"other magic", kInvalid, "magic", [](auto& b) { b.magic = "FUGG"; }},
        {"old formats", kUnsupported, "magic;before GGUF", [](auto& b) { b.magic = "tjgg"; }},
        {"LFS pointer", kInvalid, "magic;LFS", [](auto& b) { b.magic = "version https://git-lfs"; }},
        {"version 0", kUnsupported, "version is 0", [](auto& b) { b.version = 0; }},
        {"version 1", kUnsupported, "version is 1", [](auto& b) { b.version = 1; }},
        {"version 4", kUnsupported, "version is 4", [](auto& b) { b.version = 4; }},
        {"big-endian", kUnsupported, "big-endian", [](auto& b) { b.version = 3u << 24; }},
        {"tensors", kInvalid, "tensor count 18446744073709551615", [](auto& b) { b.n_tensors = kMax; }},
        {"tensors that wrap", kInvalid, "tensor count 768614336404564651",
         [](auto& b) { b.n_tensors = kMax / 24 + 1; }},
        {"keys", kInvalid, "metadata keys 18446744073709551615", [](auto& b) { b.n_entries = kMax; }},
        {"keys that wrap", kInvalid, "metadata keys", [](auto& b) { b.n_entries = kMax / 13 + 1; }},
        {"one key more", kTruncated, "metadata key 2",
         [](auto& b) { b.str("general.name", "x").n_entries = 3; }},
        {"one tensor more", kInvalid, "tensor 1", [](auto& b) { b.zeros("a", {64}, 0, 256).n_tensors = 2; }},
    });
}

TEST_CASE("An empty file and one without the key that says what it is are refused") {
    check_refused({"empty", kTruncated, "empty", {}}, {});
    const Bytes none = GgufBuilder().build();
    check_refused({"no keys", kInvalid, "general.architecture;missing", {}}, none);
    const Bytes number = GgufBuilder().number<uint32_t>("general.architecture", 5).build();
    check_refused({"a number", kInvalid, "general.architecture;u32;string", {}}, number);
}

TEST_CASE("Keys are held to their rules") {
    const auto key = [](std::string text) { return [text](GgufBuilder& b) { b.str(text, "x"); }; };
    const auto length = [](uint64_t n) {
        return [n](GgufBuilder& b) {
            GgufBuilder::put<uint64_t>(b.entries(), n);
            b.n_entries = 2;
        };
    };
    check_all({
        {"empty", kInvalid, "key 1 is empty", key("")},
        {"not ASCII", kInvalid, "key 1;invalid;ASCII;0xff", key("a\xff\xfe")},
        {"newline", kInvalid, "key 1;invalid;0x0a", key("a\nb")},
        {"NUL", kInvalid, "key 1;NUL", key(std::string("a\0b", 3))},
        {"too long", kInvalid, "key 1;65536;65535", key(std::string(65536, 'k'))},
        {"twice", kInvalid, "general.architecture;duplicate", key("general.architecture")},
        {"length 2^64-1", kInvalid, "key 1;18446744073709551615", length(kMax)},
        {"length 2^63", kInvalid, "key 1;9223372036854775808", length(uint64_t{1} << 63)},
        {"length past the end", kTruncated, "key 1;length 100;end of file", length(100)},
    });
}

TEST_CASE("Values are held to their types and to the bytes that are there") {
    check_all({
        {"type 13", kInvalid, "k: value type 13", [](auto& b) { b.raw_entry("k", 13); }},
        {"type max", kInvalid, "k: value type 4294967295", [](auto& b) { b.raw_entry("k", UINT32_MAX); }},
        {"bool 2", kInvalid, "k: bool is 2",
         [](auto& b) { GgufBuilder::put<uint8_t>(b.raw_entry("k", 7), 2); }},
        {"bool 2 in array", kInvalid, "k: bool is 2",
         [](auto& b) { GgufBuilder::put<uint8_t>(b.array("k", 7, 1), 2); }},
        {"string max", kInvalid, "k;18446744073709551615",
         [](auto& b) { GgufBuilder::put(b.raw_entry("k", 8), kMax); }},
        {"string long", kTruncated, "k;1073741823",
         [](auto& b) { GgufBuilder::put<uint64_t>(b.raw_entry("k", 8), 1073741823); }},
        {"cut u64", kTruncated, "k;8 bytes;4 left",
         [](auto& b) { GgufBuilder::put<uint32_t>(b.raw_entry("k", 10), 1); }},
        {"array max", kInvalid, "k;count 18446744073709551615", [](auto& b) { b.array("k", 0, kMax); }},
        {"array f64 wraps", kInvalid, "k;count 2305843009213693953",
         [](auto& b) { b.array("k", 12, kMax / 8 + 2); }},
        {"array of strings wraps", kInvalid, "k;count",
         [](auto& b) { b.array("k", 8, (uint64_t{1} << 60) + 1); }},
        {"array of strings, too many", kTruncated, "k;count 3",
         [](auto& b) { b.array("k", 8, 3).resize(b.entries().size() + 23); }},
        {"string in array past the end", kTruncated, "k;length 9",
         [](auto& b) { GgufBuilder::put<uint64_t>(b.array("k", 8, 1), 9); }},
        {"array type 13", kInvalid, "k;element type 13", [](auto& b) { b.array("k", 13, 0); }},
        {"array of arrays, too many", kTruncated, "k;count 1099511627776",
         [](auto& b) { b.array("k", 9, uint64_t{1} << 40); }},
        {"nested 9 deep", kInvalid, "k;nested", [](auto& b) { nest(b.raw_entry("k", 9), 9); }},
        {"nested 5000 deep", kInvalid, "k;nested", [](auto& b) { nest(b.raw_entry("k", 9), 5000); }},
    });
    GgufBuilder deep = llama();
    nest(deep.raw_entry("k", 9), 8);
    CHECK(GgufFile::open(borrow_memory(deep.build())).ok());
}

TEST_CASE("A million empty arrays in one are refused before they fill the memory") {
    GgufBuilder builder = llama();
    builder.array("k", 9, 1000000).resize(builder.entries().size() + 12000000);
    check_refused({"nested", kInvalid, "k;count;65536", {}}, builder.build());
}

TEST_CASE("Alignment and split are held to what takt reads") {
    const auto align = [](uint32_t n) { return [n](GgufBuilder& b) { b.number("general.alignment", n); }; };
    check_all({
        {"0", kInvalid, "general.alignment is 0;power", align(0)},
        {"3", kInvalid, "general.alignment is 3;power", align(3)},
        {"2 GiB", kInvalid, "general.alignment is 2147483648;exceeds", align(1u << 31)},
        {"negative", kInvalid, "general.alignment;-32",
         [](auto& b) { b.template number<int32_t>("general.alignment", -32); }},
        {"string", kInvalid, "general.alignment;string;integer",
         [](auto& b) { b.str("general.alignment", "32"); }},
        {"float", kInvalid, "general.alignment;f32", [](auto& b) { b.number("general.alignment", 32.0f); }},
        {"split", kUnsupported, "split.count is 2",
         [](auto& b) { b.template number<uint16_t>("split.count", 2); }},
    });
}

TEST_CASE("Tensor names and dimensions are held to their rules") {
    const auto named = [](std::string name) {
        return [name](GgufBuilder& b) { b.zeros(name, {32}, 0, 128); };
    };
    const auto n_dims = [](uint32_t n) {
        return [n](GgufBuilder& b) {
            GgufBuilder::put_string(b.infos(), "w");
            GgufBuilder::put<uint32_t>(b.infos(), n);
            b.infos().resize(b.infos().size() + 100, std::byte{1});
            b.n_tensors = 1;
        };
    };
    check_all({
        {"empty", kInvalid, "ame of tensor 0 is empty", named("")},
        {"NUL", kInvalid, "ame of tensor 0;NUL", named(std::string("blk.0\0x", 7))},
        {"not ASCII", kInvalid, "ame of tensor 0;0xc3", named("\xc3\xa9")},
        {"65 bytes", kInvalid, "ame of tensor 0;65;64", named(std::string(65, 'n'))},
        {"length max", kInvalid, "ame of tensor 0;18446744073709551615",
         [](auto& b) {
             GgufBuilder::put(b.infos(), kMax);
             b.infos().resize(40);
             b.n_tensors = 1;
         }},
        {"twice", kInvalid, "Tensor w is a duplicate",
         [](auto& b) { b.zeros("w", {1}, 0, 4).zeros("w", {1}, 0, 4); }},
        {"no dimension", kInvalid, "Tensor w: 0 dimensions", n_dims(0)},
        {"five", kInvalid, "Tensor w: 5 dimensions", n_dims(5)},
        {"2^32-1", kInvalid, "Tensor w: 4294967295 dimensions", n_dims(UINT32_MAX)},
    });
    GgufBuilder longest = llama();
    longest.zeros(std::string(64, 'n'), {1}, 0, 4);
    CHECK(GgufFile::open(borrow_memory(longest.build())).ok());
}

TEST_CASE("Shapes whose size wraps, is zero or exceeds the file are refused") {
    const uint64_t half = uint64_t{1} << 63;
    check_all({
        {"0 first", kInvalid, "w;dimension 0;[0, 64]", shaped({0, 64}, 0)},
        {"0 last", kInvalid, "w;dimension 0;[64, 0]", shaped({64, 0}, 0)},
        {"0 after a wrap", kInvalid, "w;shape", shaped({half, half, 0}, 0)},
        {"-1", kInvalid, "w;shape;18446744073709551615;exceeds", shaped({64, kMax}, 0)},
        {"product wraps to 0", kInvalid, "w;shape;exceeds",
         shaped({uint64_t{1} << 32, uint64_t{1} << 32}, 0)},
        {"product wraps to 64", kInvalid, "w;shape;exceeds", shaped({64, half + 1, 1, 2}, 0)},
        {"bytes wrap to 0", kInvalid, "w;shape;exceeds", shaped({uint64_t{1} << 62}, 0)},
        {"bytes 2^64 - 16", kInvalid, "w;shape;exceeds", shaped({4, (1u << 30) - 1, (1u << 30) + 1}, 0)},
        {"bytes of a wide type exceed the file", kTruncated, "w;end of file", shaped({8192}, 0)},
        {"q4_0 of 33", kInvalid, "w;33;32;q4_0", shaped({33, 32}, 2)},
        {"q4_k of 128", kInvalid, "w;128;256;q4_k", shaped({128, 2}, 12)},
    });
}

TEST_CASE("Types that takt does not read are refused by name, numbers without a name as such") {
    check_all({
        {"i32", kUnsupported, "Tensor w has type i32 (26)", shaped({32}, 26)},
        {"f64", kUnsupported, "Tensor w has type f64 (28)", shaped({32}, 28)},
        {"retired", kUnsupported, "Tensor w has type q4_0_8_8 (33), which takt does not read.",
         shaped({256}, 33)},
        {"a fork's", kUnsupported, "type iq4_k (139), which takt does not read.", shaped({256}, 139)},
        {"a fork's rows", kUnsupported, "type iq4_ks_r4 (344)", shaped({256}, 344)},
        {"removed", kUnsupported, "type q4_2 (4)", shaped({32}, 4)},
        {"the first without a name", kUnsupported, "type 43, which takt does not know", shaped({32}, 43)},
        {"9999", kUnsupported, "type 9999", shaped({32}, 9999)},
        {"max", kUnsupported, "type 4294967295", shaped({32}, UINT32_MAX)},
    });
}

TEST_CASE("Offsets past the data, that wrap, unaligned or overlapping are refused") {
    const auto at = [](uint64_t offset) {
        return
            [offset](GgufBuilder& b) { b.zeros("a", {64}, 0, 256).tensor("w", {64}, 0, Bytes(256), offset); };
    };
    check_all({
        {"past", kTruncated, "w;offset 1048576;past the end of file", at(1 << 20)},
        {"just past", kTruncated, "w;past the end of file", at(256 + 32)},
        {"wraps into the header", kInvalid, "w;offset 18446744073709547520", at(kMax - 4095)},
        {"wraps with the size", kInvalid, "w;offset", at(kMax - 31)},
        {"unaligned", kInvalid, "w;offset 260;align", at(260)},
        {"same place", kInvalid, "overlaps;256", at(0)},
        {"partly the same place", kInvalid, "w;overlaps;tensor a", at(224)},
    });
}
