// Merges over a linked list of symbols, each a part of the escaped text, with a heap of candidates.
#include "tokenizer/spm_encoder.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/utf8.h"

namespace takt {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";
constexpr uint32_t kNone = ~uint32_t{0};

struct Symbol {
    size_t begin;   // in the escaped text
    uint32_t size;  // 0: merged into its left neighbour
    uint32_t previous;
    uint32_t next;
};

struct Candidate {
    float score;
    uint32_t left;
    uint32_t size;  // of both together when this was pushed
};

bool comes_later(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
}

}  // namespace

class SpmEncoder::Run {
public:
    Run(const Vocabulary& vocabulary, std::string_view text, bool add_prefix, size_t text_offset)
        : vocabulary_(vocabulary), text_(text), text_offset_(text_offset), prefix_(add_prefix) {
        escaped_.reserve(text.size() + text.size() / 2 + kSpace.size());
        if (add_prefix) escaped_ += kSpace;
        for (const char c : text) {
            if (c == ' ') {
                escaped_ += kSpace;
            } else {
                escaped_ += c;
            }
        }
    }

    Status encode(std::vector<int32_t>& ids) {
        split_characters();
        for (uint32_t i = 0; i < symbols_.size(); ++i) push_candidate(i);
        merge();
        for (uint32_t i = symbols_.empty() ? kNone : 0; i != kNone; i = symbols_[i].next) {
            TAKT_RETURN_IF_ERROR(write(symbols_[i], ids));
        }
        return Status();
    }

private:
    std::string_view text_of(size_t begin, size_t size) const {
        return std::string_view(escaped_).substr(begin, size);
    }

    // A byte that is no part of UTF-8 is a symbol of its own, and no token's text holds one: it never merges.
    void split_characters() {
        for (size_t pos = 0; pos < escaped_.size();) {
            const Utf8Step step = utf8_step(escaped_, pos);
            const uint32_t size = step.kind == Utf8Kind::valid ? step.size : 1;
            const auto index = static_cast<uint32_t>(symbols_.size());
            symbols_.push_back({pos, size, index - 1, index + 1});  // index - 1 is kNone for the first
            pos += size;
        }
        if (!symbols_.empty()) symbols_.back().next = kNone;
    }

    void push_candidate(uint32_t left) {
        const Symbol& symbol = symbols_[left];
        if (symbol.next == kNone) return;
        const uint32_t size = symbol.size + symbols_[symbol.next].size;
        if (size > vocabulary_.longest_text_bytes()) return;
        const int32_t id = vocabulary_.find(text_of(symbol.begin, size));
        if (id < 0) return;
        if (vocabulary_.type(id) == TokenType::unused) unused_splits_[id] = symbol.size;
        heap_.push_back({vocabulary_.score(id), left, size});
        std::push_heap(heap_.begin(), heap_.end(), comes_later);
    }

    void merge() {
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), comes_later);
            const Candidate candidate = heap_.back();
            heap_.pop_back();
            Symbol& left = symbols_[candidate.left];
            // Stale: merged away, at the end, or one of the two has grown since.
            if (left.size == 0 || left.next == kNone ||
                left.size + symbols_[left.next].size != candidate.size)
                continue;
            Symbol& right = symbols_[left.next];
            left.size = candidate.size;
            right.size = 0;
            left.next = right.next;
            if (left.next != kNone) symbols_[left.next].previous = candidate.left;
            push_candidate(candidate.left);
            if (left.previous != kNone) push_candidate(left.previous);
        }
    }

    // Unused tokens help to merge, but are never given out: they fall back to the two halves they came from.
    Status write(const Symbol& symbol, std::vector<int32_t>& ids) {
        std::vector<std::pair<size_t, size_t>> todo = {{symbol.begin, symbol.size}};
        while (!todo.empty()) {
            const auto [begin, size] = todo.back();
            todo.pop_back();
            const int32_t id = vocabulary_.find(text_of(begin, size));
            const auto split = id < 0 ? unused_splits_.end() : unused_splits_.find(id);
            if (split != unused_splits_.end() && split->second < size) {
                todo.emplace_back(begin + split->second, size - split->second);
                todo.emplace_back(begin, split->second);
            } else if (id >= 0) {
                ids.push_back(id);
            } else {
                TAKT_RETURN_IF_ERROR(write_bytes(begin, size, ids));
            }
        }
        return Status();
    }

    Status write_bytes(size_t begin, size_t size, std::vector<int32_t>& ids) {
        // A vocabulary without "▁" still has the byte of the space itself.
        const std::string_view bytes = text_of(begin, size) == kSpace ? " " : text_of(begin, size);
        for (size_t i = 0; i < bytes.size(); ++i) {
            const auto byte = static_cast<uint8_t>(bytes[i]);
            const int32_t id = vocabulary_.byte_token(byte);
            if (id < 0) {
                return Status(
                    StatusCode::invalid_argument,
                    fmt::format("Byte 0x{:02X} at offset {} of the text has no token in the vocabulary.",
                                byte, source_offset(begin) + i));
            }
            ids.push_back(id);
        }
        return Status();
    }

    // Where a place of the escaped text lies in the caller's text.
    size_t source_offset(size_t escaped_offset) const {
        size_t at = prefix_ ? kSpace.size() : 0;
        size_t source = 0;
        for (; source < text_.size() && at < escaped_offset; ++source)
            at += text_[source] == ' ' ? kSpace.size() : 1;
        return text_offset_ + source;
    }

    const Vocabulary& vocabulary_;
    std::string_view text_;
    size_t text_offset_;
    bool prefix_;
    std::string escaped_;
    std::vector<Symbol> symbols_;
    std::vector<Candidate> heap_;
    std::unordered_map<int32_t, uint32_t> unused_splits_;  // unused token → bytes of its left half
};

Status SpmEncoder::encode(std::string_view text, bool add_prefix, size_t text_offset,
                          std::vector<int32_t>& ids) const {
    if (text.empty()) return Status();
    return Run(vocabulary_, text, add_prefix, text_offset).encode(ids);
}

}  // namespace takt
