// Writes the bytes of a small GGUF file with the metadata that a test of the tokenizer needs.
#pragma once

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "gguf/gguf_reader.h"
#include "tokenizer/tokenizer.h"

namespace takt::test {

class GgufBytes {
public:
    GgufBytes() { text("general.architecture", "llama"); }
    GgufBytes& text(std::string_view key, std::string_view value) {
        begin(key, GgufType::string);
        put_text(body_, value);
        return *this;
    }
    GgufBytes& flag(std::string_view key, bool value) {
        begin(key, GgufType::boolean);
        put<uint8_t>(body_, value ? 1 : 0);
        return *this;
    }
    GgufBytes& u32(std::string_view key, uint32_t value) {
        begin(key, GgufType::u32);
        put(body_, value);
        return *this;
    }
    GgufBytes& texts(std::string_view key, const std::vector<std::string>& values) {
        begin_array(key, GgufType::string, values.size());
        for (const std::string& value : values) put_text(body_, value);
        return *this;
    }
    GgufBytes& i32s(std::string_view key, const std::vector<int32_t>& values) {
        begin_array(key, GgufType::i32, values.size());
        for (const int32_t value : values) put(body_, value);
        return *this;
    }
    GgufBytes& f32s(std::string_view key, const std::vector<float>& values) {
        begin_array(key, GgufType::f32, values.size());
        for (const float value : values) put(body_, value);
        return *this;
    }

    std::shared_ptr<const GgufFile> open() const {
        std::string bytes = "GGUF";
        put<uint32_t>(bytes, 3);
        put<uint64_t>(bytes, 1);  // tensors
        put<uint64_t>(bytes, count_);
        bytes += body_;
        put_text(bytes, "token_embd.weight");
        put<uint32_t>(bytes, 1);
        put<uint64_t>(bytes, 8);
        put<uint32_t>(bytes, 0);
        put<uint64_t>(bytes, 0);
        bytes.append((32 - bytes.size() % 32) % 32 + 32, '\0');
        // The metadata is copied out by open(); the bytes need not live longer.
        const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
        Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(borrow_memory({data, bytes.size()}));
        INFO(file.status().message());
        REQUIRE(file.ok());
        return *file;
    }
    Result<std::shared_ptr<const Tokenizer>> tokenizer() const { return Tokenizer::create(*open()); }

private:
    template <typename T>
    static void put(std::string& out, T value) {
        char bytes[sizeof(T)];
        std::memcpy(bytes, &value, sizeof(T));
        out.append(bytes, sizeof(T));
    }
    static void put_text(std::string& out, std::string_view value) {
        put<uint64_t>(out, value.size());
        out += value;
    }
    void begin(std::string_view key, GgufType type) {
        put_text(body_, key);
        put(body_, static_cast<uint32_t>(type));
        ++count_;
    }
    void begin_array(std::string_view key, GgufType type, size_t size) {
        begin(key, GgufType::array);
        put(body_, static_cast<uint32_t>(type));
        put<uint64_t>(body_, size);
    }

    std::string body_;
    uint64_t count_ = 0;
};

}  // namespace takt::test
