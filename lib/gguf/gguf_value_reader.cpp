// Values of GGUF metadata.
#include "gguf/gguf_value_reader.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace takt {
namespace {

constexpr int kDeepestNesting = 8;
// An empty inner array takes 12 bytes in the file and some hundred in memory; no known file holds even a
// thousand.
constexpr uint32_t kMostNestedArrays = 1u << 16;
constexpr uint64_t kLongestString = uint64_t{64} << 20;
constexpr uint64_t kEmptyStringBytes = 8;
constexpr uint64_t kEmptyArrayBytes = 12;
// Known vocabularies hold fewer; beyond it, memory is taken as the strings come.
constexpr uint64_t kReservedStrings = uint64_t{1} << 18;
constexpr uint32_t kLastType = static_cast<uint32_t>(GgufType::f64);

// The fewest bytes that one element takes in the file: no count above bytes left / this can be true.
uint64_t least_bytes(GgufType type) {
    switch (type) {
        case GgufType::u8:
        case GgufType::i8:
        case GgufType::boolean:
            return 1;
        case GgufType::u16:
        case GgufType::i16:
            return 2;
        case GgufType::u32:
        case GgufType::i32:
        case GgufType::f32:
            return 4;
        case GgufType::u64:
        case GgufType::i64:
        case GgufType::f64:
            return 8;
        case GgufType::string:
            return kEmptyStringBytes;
        case GgufType::array:
            return kEmptyArrayBytes;
    }
    return 1;
}

}  // namespace

Status GgufValueReader::read(std::string_view key, GgufType& out_type, GgufValue& out_value) {
    TAKT_RETURN_IF_ERROR(read_type(fmt::format("{}: value type", key), out_type));
    if (out_type != GgufType::array) return read_scalar(key, out_type, out_value);
    std::shared_ptr<const GgufArray> array;
    TAKT_RETURN_IF_ERROR(read_array(key, 1, array));
    out_value = std::move(array);
    return {};
}

Status GgufValueReader::read_type(std::string_view what, GgufType& out) {
    uint32_t id = 0;
    TAKT_RETURN_IF_ERROR(reader_.read_number(what, id));
    if (id > kLastType) {
        return Status(StatusCode::file_invalid,
                      fmt::format("{} {} does not exist; the last is {}.", what, id, kLastType));
    }
    out = static_cast<GgufType>(id);
    return {};
}

Status GgufValueReader::read_scalar(std::string_view what, GgufType type, GgufValue& out) {
    const auto number = [&]<typename Stored, typename Kept>(Stored stored, Kept) -> Status {
        TAKT_RETURN_IF_ERROR(reader_.read_number(what, stored));
        out = static_cast<Kept>(stored);
        return {};
    };
    switch (type) {
        case GgufType::u8:
            return number(uint8_t{}, uint64_t{});
        case GgufType::u16:
            return number(uint16_t{}, uint64_t{});
        case GgufType::u32:
            return number(uint32_t{}, uint64_t{});
        case GgufType::u64:
            return number(uint64_t{}, uint64_t{});
        case GgufType::i8:
            return number(int8_t{}, int64_t{});
        case GgufType::i16:
            return number(int16_t{}, int64_t{});
        case GgufType::i32:
            return number(int32_t{}, int64_t{});
        case GgufType::i64:
            return number(int64_t{}, int64_t{});
        case GgufType::f32:
            return number(float{}, double{});
        case GgufType::f64:
            return number(double{}, double{});
        case GgufType::boolean: {
            uint8_t byte = 0;
            TAKT_RETURN_IF_ERROR(reader_.read_number(what, byte));
            if (byte > 1)
                return Status(StatusCode::file_invalid,
                              fmt::format("{}: bool is {}, not 0 or 1.", what, byte));
            out = byte == 1;
            return {};
        }
        case GgufType::string: {
            std::string text;
            TAKT_RETURN_IF_ERROR(reader_.read_string(fmt::format("{}: string", what), kLongestString, text));
            out = std::move(text);
            return {};
        }
        case GgufType::array:
            break;  // read_array's
    }
    return Status(StatusCode::internal, fmt::format("{}: not a scalar type.", what));
}

Status GgufValueReader::read_array(std::string_view what, int depth, std::shared_ptr<const GgufArray>& out) {
    if (depth > kDeepestNesting) {
        return Status(StatusCode::file_invalid,
                      fmt::format("{}: arrays are nested deeper than {}.", what, kDeepestNesting));
    }
    auto array = std::make_shared<GgufArray>();
    TAKT_RETURN_IF_ERROR(read_type(fmt::format("{}: array element type", what), array->element_type));
    uint64_t count = 0;
    TAKT_RETURN_IF_ERROR(reader_.read_number(what, count));
    if (count > reader_.left() / least_bytes(array->element_type)) {
        return Status(
            past_end_code(count),
            fmt::format("{}: array count {} of type {} exceeds the {} bytes left before the end of file.",
                        what, count, gguf_type_name(array->element_type), reader_.left()));
    }
    TAKT_RETURN_IF_ERROR(read_elements(what, count, depth, *array));
    out = std::move(array);
    return {};
}

Status GgufValueReader::read_elements(std::string_view what, uint64_t count, int depth, GgufArray& out) {
    switch (out.element_type) {
        case GgufType::u8:
            return read_numbers<uint8_t>(what, count, out.unsigneds);
        case GgufType::u16:
            return read_numbers<uint16_t>(what, count, out.unsigneds);
        case GgufType::u32:
            return read_numbers<uint32_t>(what, count, out.unsigneds);
        case GgufType::u64:
            return read_numbers<uint64_t>(what, count, out.unsigneds);
        case GgufType::i8:
            return read_numbers<int8_t>(what, count, out.signeds);
        case GgufType::i16:
            return read_numbers<int16_t>(what, count, out.signeds);
        case GgufType::i32:
            return read_numbers<int32_t>(what, count, out.signeds);
        case GgufType::i64:
            return read_numbers<int64_t>(what, count, out.signeds);
        case GgufType::f32:
            return read_numbers<float>(what, count, out.floats);
        case GgufType::f64:
            return read_numbers<double>(what, count, out.floats);
        case GgufType::string:
            return read_strings(what, count, out);
        case GgufType::array:
            return read_arrays(what, count, depth, out);
        case GgufType::boolean:
            break;
    }
    TAKT_RETURN_IF_ERROR(read_numbers<uint8_t>(what, count, out.booleans));
    for (const uint8_t byte : out.booleans) {
        if (byte > 1)
            return Status(StatusCode::file_invalid, fmt::format("{}: bool is {}, not 0 or 1.", what, byte));
    }
    return {};
}

// By pieces, so that a value that ends too early has taken no more memory than the bytes that were there.
template <typename Stored, typename Kept>
Status GgufValueReader::read_numbers(std::string_view what, uint64_t count, std::vector<Kept>& out) {
    std::array<Stored, 512> piece;
    while (out.size() < count) {
        const size_t n = static_cast<size_t>(std::min<uint64_t>(piece.size(), count - out.size()));
        TAKT_RETURN_IF_ERROR(reader_.read(what, std::as_writable_bytes(std::span(piece).first(n))));
        for (size_t i = 0; i < n; ++i) out.push_back(static_cast<Kept>(piece[i]));
    }
    return {};
}

Status GgufValueReader::read_strings(std::string_view what, uint64_t count, GgufArray& out) {
    const std::string name = fmt::format("{}: string in array", what);
    out.strings.reserve(static_cast<size_t>(std::min(count, kReservedStrings)));
    while (out.strings.size() < count) {
        std::string text;
        TAKT_RETURN_IF_ERROR(reader_.read_string(name, kLongestString, text));
        out.strings.push_back(std::move(text));
    }
    return {};
}

Status GgufValueReader::read_arrays(std::string_view what, uint64_t count, int depth, GgufArray& out) {
    while (out.arrays.size() < count) {
        if (++n_nested_ > kMostNestedArrays) {
            return Status(StatusCode::file_invalid,
                          fmt::format("{}: count of nested arrays exceeds {}.", what, kMostNestedArrays));
        }
        std::shared_ptr<const GgufArray> inner;
        TAKT_RETURN_IF_ERROR(read_array(what, depth + 1, inner));
        out.arrays.push_back(std::move(inner));
    }
    return {};
}

}  // namespace takt
