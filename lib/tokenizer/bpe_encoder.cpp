// Merges over a linked list of symbols, with a heap of candidates; stale ones are skipped when they come up.
#include "tokenizer/bpe_encoder.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "tokenizer/byte_alphabet.h"

namespace takt {
namespace {

constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr uint32_t kNone = ~uint32_t{0};

uint64_t pair_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t slot_of(uint64_t pair, size_t table_size) {
    return static_cast<size_t>((pair * 0x9E3779B97F4A7C15u) >> 20) & (table_size - 1);
}

// std::push_heap keeps the largest in front: "less" is the candidate that comes later.
bool comes_later(const BpeEncoder::Scratch::Candidate& a, const BpeEncoder::Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Result<BpeEncoder> BpeEncoder::create(const GgufFile& file, const Vocabulary& vocabulary) {
    Result<const GgufArray*> merges = file.get_array(kMerges, GgufType::string);
    if (!merges.ok()) return Status(StatusCode::tokenizer_invalid, merges.status().message());
    if (*merges == nullptr) {
        return Status(StatusCode::tokenizer_invalid,
                      fmt::format("The file has no {}, its tokenizer.ggml.model gpt2 needs them.", kMerges));
    }
    BpeEncoder encoder;
    for (size_t byte = 0; byte < 256; ++byte) {
        std::string letter;
        const char as_char = static_cast<char>(byte);
        append_letters(letter, {&as_char, 1});
        encoder.byte_tokens_[byte] = vocabulary.find(letter);
    }
    TAKT_RETURN_IF_ERROR(encoder.load_merges((*merges)->strings, vocabulary));
    return encoder;
}

Status BpeEncoder::load_merges(const std::vector<std::string>& merges, const Vocabulary& vocabulary) {
    if (merges.size() >= std::numeric_limits<uint32_t>::max()) {
        return Status(StatusCode::tokenizer_invalid,
                      fmt::format("{} has {} entries, too many.", kMerges, merges.size()));
    }
    table_.resize(std::bit_ceil(std::max<size_t>(merges.size() * 2, 16)));
    std::string whole;
    for (size_t i = 0; i < merges.size(); ++i) {
        const std::string_view merge = merges[i];
        const size_t space = merge.find(' ');
        if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
            merge.find(' ', space + 1) != std::string_view::npos) {
            return Status(
                StatusCode::tokenizer_invalid,
                fmt::format("{}: merge {} is malformed, two halves and one space between them are needed.",
                            kMerges, i));
        }
        const std::string_view left = merge.substr(0, space);
        const std::string_view right = merge.substr(space + 1);
        whole.assign(left).append(right);
        const int32_t left_id = vocabulary.find(left);
        const int32_t right_id = vocabulary.find(right);
        const int32_t result = vocabulary.find(whole);
        if (left_id >= 0 && right_id >= 0 && result >= 0)
            insert({pair_of(left_id, right_id), static_cast<uint32_t>(i), result});
    }
    return Status();
}

void BpeEncoder::insert(const Merge& merge) {
    size_t slot = slot_of(merge.pair, table_.size());
    while (table_[slot].result >= 0) {
        if (table_[slot].pair == merge.pair) return;  // the better rank is there already
        slot = (slot + 1) & (table_.size() - 1);
    }
    table_[slot] = merge;
}

const BpeEncoder::Merge* BpeEncoder::find(int32_t left, int32_t right) const {
    const uint64_t pair = pair_of(left, right);
    for (size_t slot = slot_of(pair, table_.size()); table_[slot].result >= 0;
         slot = (slot + 1) & (table_.size() - 1)) {
        if (table_[slot].pair == pair) return &table_[slot];
    }
    return nullptr;
}

void BpeEncoder::push_candidate(Scratch& scratch, uint32_t left) const {
    const Scratch::Symbol& symbol = scratch.symbols[left];
    if (symbol.next == kNone) return;
    const int32_t right_id = scratch.symbols[symbol.next].id;
    const Merge* merge = find(symbol.id, right_id);
    if (merge == nullptr) return;
    scratch.heap.push_back({merge->rank, left, symbol.id, right_id});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), comes_later);
}

void BpeEncoder::encode_piece(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
    auto& symbols = scratch.symbols;
    auto& heap = scratch.heap;
    symbols.clear();
    heap.clear();
    for (const char byte : piece) {
        const int32_t id = byte_token(static_cast<uint8_t>(byte));
        if (id < 0) continue;
        const auto index = static_cast<uint32_t>(symbols.size());
        symbols.push_back({id, index - 1, index + 1});  // index - 1 is kNone for the first
    }
    if (symbols.empty()) return;
    symbols.back().next = kNone;
    for (uint32_t i = 0; i < symbols.size(); ++i) push_candidate(scratch, i);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), comes_later);
        const Scratch::Candidate candidate = heap.back();
        heap.pop_back();
        Scratch::Symbol& left = symbols[candidate.left];
        // A symbol that was merged away holds -1, one that grew another id: then the candidate is stale.
        if (left.id != candidate.left_id || left.next == kNone) continue;
        Scratch::Symbol& right = symbols[left.next];
        if (right.id != candidate.right_id) continue;
        left.id = find(left.id, right.id)->result;
        right.id = -1;
        left.next = right.next;
        if (left.next != kNone) symbols[left.next].previous = candidate.left;
        push_candidate(scratch, candidate.left);
        if (left.previous != kNone) push_candidate(scratch, left.previous);
    }
    for (uint32_t i = 0; i != kNone; i = symbols[i].next) ids.push_back(symbols[i].id);
}

}  // namespace takt
