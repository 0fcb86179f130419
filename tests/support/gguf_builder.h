// Builds GGUF files in memory, right ones and, with the raw calls and overrides, wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace takt::test {

class GgufBuilder {
public:
    using Bytes = std::vector<std::byte>;

    // What a file says of itself, when it shall not be the truth.
    std::string magic = "GGUF";
    uint32_t version = 3;
    std::optional<uint64_t> n_tensors;
    std::optional<uint64_t> n_entries;
    uint64_t alignment = 32;  // of the layout; say_alignment() also writes the key

    template <typename T>
        requires std::is_arithmetic_v<T>
    static void put(Bytes& out, T value) {
        const size_t at = out.size();
        out.resize(at + sizeof(T));
        std::memcpy(out.data() + at, &value, sizeof(T));
    }
    static void put_string(Bytes& out, std::string_view text) {
        put<uint64_t>(out, text.size());
        put_text(out, text);
    }
    static void put_text(Bytes& out, std::string_view text) {
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        out.insert(out.end(), bytes, bytes + text.size());
    }

    // Begins a key and its type id; the value's bytes are the caller's to put into entries().
    Bytes& raw_entry(std::string_view key, uint32_t type_id) {
        put_string(entries_, key);
        put<uint32_t>(entries_, type_id);
        ++entry_count_;
        return entries_;
    }
    Bytes& entries() { return entries_; }
    Bytes& infos() { return infos_; }

    GgufBuilder& str(std::string_view key, std::string_view value) {
        put_string(raw_entry(key, 8), value);
        return *this;
    }
    template <typename T>
    GgufBuilder& number(std::string_view key, T value) {
        put<T>(raw_entry(key, type_id<T>()), value);
        return *this;
    }
    GgufBuilder& flag(std::string_view key, bool value) {
        put<uint8_t>(raw_entry(key, 7), value ? 1 : 0);
        return *this;
    }
    template <typename T>
    GgufBuilder& numbers(std::string_view key, const std::vector<T>& values) {
        Bytes& out = array(key, type_id<T>(), values.size());
        for (const T value : values) put<T>(out, value);
        return *this;
    }
    GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
        Bytes& out = array(key, 8, values.size());
        for (const std::string& value : values) put_string(out, value);
        return *this;
    }
    // An array's head; its elements are the caller's.
    Bytes& array(std::string_view key, uint32_t element_type_id, uint64_t count) {
        Bytes& out = raw_entry(key, 9);
        put<uint32_t>(out, element_type_id);
        put<uint64_t>(out, count);
        return out;
    }
    GgufBuilder& say_alignment(uint32_t value) {
        alignment = value;
        return number<uint32_t>("general.alignment", value);
    }

    // Data lies in the order of the calls; `offset` replaces the true one in the table.
    GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type_id,
                        std::span<const std::byte> data, std::optional<uint64_t> offset = std::nullopt) {
        pad(data_, alignment);
        put_string(infos_, name);
        put<uint32_t>(infos_, static_cast<uint32_t>(dims.size()));
        for (const uint64_t dim : dims) put<uint64_t>(infos_, dim);
        put<uint32_t>(infos_, type_id);
        put<uint64_t>(infos_, offset.value_or(data_.size()));
        data_.insert(data_.end(), data.begin(), data.end());
        ++tensor_count_;
        return *this;
    }
    GgufBuilder& f32_tensor(std::string_view name, const std::vector<uint64_t>& dims,
                            const std::vector<float>& values) {
        return tensor(name, dims, 0, std::as_bytes(std::span(values)));
    }
    GgufBuilder& zeros(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type_id,
                       size_t n_bytes) {
        return tensor(name, dims, type_id, Bytes(n_bytes));
    }

    // Where the tensor data begins in build().
    size_t data_start() const { return head().size(); }
    Bytes build() const {
        Bytes out = head();
        out.insert(out.end(), data_.begin(), data_.end());
        return out;
    }

private:
    static void pad(Bytes& bytes, uint64_t alignment) {
        if (alignment == 0) return;
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    }
    template <typename T>
    static constexpr uint32_t type_id() {
        if constexpr (std::is_same_v<T, float>)
            return 6;
        else if constexpr (std::is_same_v<T, double>)
            return 12;
        else if constexpr (sizeof(T) == 8)
            return std::is_signed_v<T> ? 11 : 10;
        else
            return (sizeof(T) == 1 ? 0u : sizeof(T) == 2 ? 2u : 4u) + (std::is_signed_v<T> ? 1u : 0u);
    }
    Bytes head() const {
        Bytes out;
        put_text(out, magic);
        put<uint32_t>(out, version);
        put<uint64_t>(out, n_tensors.value_or(tensor_count_));
        put<uint64_t>(out, n_entries.value_or(entry_count_));
        out.insert(out.end(), entries_.begin(), entries_.end());
        out.insert(out.end(), infos_.begin(), infos_.end());
        if (tensor_count_ != 0) pad(out, alignment);
        return out;
    }

    Bytes entries_;
    Bytes infos_;
    Bytes data_;
    uint64_t entry_count_ = 0;
    uint64_t tensor_count_ = 0;
};

}  // namespace takt::test
