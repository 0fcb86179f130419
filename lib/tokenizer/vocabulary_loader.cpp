// Fills a Vocabulary from a file's metadata, every length, type and id checked; errors name key and value.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "tokenizer/end_of_generation.h"
#include "base/utf8.h"
#include "tokenizer/vocabulary.h"

namespace takt {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr uint32_t kMaxTokens = std::numeric_limits<int32_t>::max();

template <typename... Args>
Status invalid(fmt::format_string<Args...> format, Args&&... args) {
    return Status(StatusCode::tokenizer_invalid, fmt::format(format, std::forward<Args>(args)...));
}

// The array behind a key; nullptr if the key is absent.
Result<const GgufArray*> find_array(const GgufFile& file, std::string_view key) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return nullptr;
    const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&entry->value);
    if (array == nullptr)
        return invalid("{} has type {}, an array is needed.", key, gguf_type_name(entry->type));
    return array->get();
}

}  // namespace

class VocabularyLoader {
public:
    VocabularyLoader(const GgufFile& file, Vocabulary& out) : file_(file), out_(out) {}

    Status load(VocabularyKind kind, bool adds_bos_default) {
        out_.kind_ = kind;
        TAKT_RETURN_IF_ERROR(load_texts());
        TAKT_RETURN_IF_ERROR(load_types());
        if (kind == VocabularyKind::sentencepiece) TAKT_RETURN_IF_ERROR(load_scores());
        TAKT_RETURN_IF_ERROR(load_special_ids());
        TAKT_RETURN_IF_ERROR(load_rules(adds_bos_default));
        index_texts();
        return Status();
    }

private:
    Status load_texts() {
        Result<const GgufArray*> tokens = find_array(file_, kTokens);
        if (!tokens.ok()) return tokens.status();
        if (*tokens == nullptr) return invalid("The file has no {}.", kTokens);
        const GgufArray& array = **tokens;
        if (array.element_type != GgufType::string) {
            return invalid("{} is an array of type {}, string is needed.", kTokens,
                           gguf_type_name(array.element_type));
        }
        if (array.strings.empty()) return invalid("{} is empty: it has 0 entries.", kTokens);
        if (array.strings.size() > kMaxTokens) {
            return invalid("{} has {} entries, the limit is {}.", kTokens, array.strings.size(), kMaxTokens);
        }
        size_t total = 0;
        for (size_t i = 0; i < array.strings.size(); ++i) {
            const std::string& text = array.strings[i];
            if (text.size() > Vocabulary::kMaxTokenBytes) {
                return invalid("{}: token {} has {} bytes, the limit is {}.", kTokens, i, text.size(),
                               Vocabulary::kMaxTokenBytes);
            }
            if (const size_t end = utf8_valid_end(text, 0); end != text.size()) {
                return invalid("{}: token {} is invalid UTF-8 at byte {}.", kTokens, i, end);
            }
            out_.longest_text_bytes_ = std::max(out_.longest_text_bytes_, text.size());
            total += text.size();
        }
        out_.characters_.reserve(total);
        out_.begins_.reserve(array.strings.size() + 1);
        for (const std::string& text : array.strings) {
            out_.begins_.push_back(out_.characters_.size());
            out_.characters_.insert(out_.characters_.end(), text.begin(), text.end());
        }
        out_.begins_.push_back(total);
        return Status();
    }

    size_t count() const { return out_.begins_.size() - 1; }

    Status load_types() {
        out_.types_.assign(count(), TokenType::normal);
        Result<const GgufArray*> types = find_array(file_, kTokenTypes);
        if (!types.ok()) return types.status();
        has_types_ = *types != nullptr;
        if (!has_types_) {
            guess_types();
            return Status();
        }
        const GgufArray& array = **types;
        if (array.unsigneds.size() + array.signeds.size() != array.size()) {
            return invalid("{} is an array of type {}, integers are needed.", kTokenTypes,
                           gguf_type_name(array.element_type));
        }
        if (array.size() != count()) {
            return invalid("{} has {} entries for {} tokens.", kTokenTypes, array.size(), count());
        }
        for (size_t i = 0; i < count(); ++i) {
            const int64_t value = array.signeds.empty()
                                      ? static_cast<int64_t>(std::min<uint64_t>(array.unsigneds[i], 255))
                                      : array.signeds[i];
            // Numbers that mean nothing (yet) count as normal.
            if (value >= 1 && value <= 6) out_.types_[i] = static_cast<TokenType>(value);
        }
        return Status();
    }

    // A file without types: byte tokens show by their text, control tokens are those that the special ids
    // name.
    void guess_types() {
        for (size_t i = 0; i < count(); ++i) {
            const auto id = static_cast<int32_t>(i);
            if (out_.kind_ == VocabularyKind::sentencepiece && parse_byte_text(out_.text(id)) >= 0)
                out_.types_[i] = TokenType::byte;
        }
    }

    Status load_scores() {
        Result<const GgufArray*> scores = find_array(file_, kScores);
        if (!scores.ok()) return scores.status();
        if (*scores == nullptr)
            return invalid("The file has no {}, its tokenizer.ggml.model llama needs them.", kScores);
        const GgufArray& array = **scores;
        if (array.floats.size() != array.size()) {
            return invalid("{} is an array of type {}, floats are needed.", kScores,
                           gguf_type_name(array.element_type));
        }
        if (array.size() != count())
            return invalid("{} has {} entries for {} tokens.", kScores, array.size(), count());
        out_.scores_.reserve(count());
        for (size_t i = 0; i < count(); ++i) {
            if (!std::isfinite(array.floats[i])) {
                return invalid("{}: the score of token {} is {}, a finite number is needed.", kScores, i,
                               array.floats[i]);
            }
            out_.scores_.push_back(static_cast<float>(array.floats[i]));
        }
        return Status();
    }

    Status check_id(std::string_view key, uint64_t id) const {
        if (id < count()) return Status();
        return invalid("{} is {}, the vocabulary has {} tokens.", key, id, count());
    }

    // -1: the file has none.
    Result<int32_t> special_id(std::string_view key) const {
        Result<std::optional<uint64_t>> id = file_.get_uint(key);
        if (!id.ok()) return Status(StatusCode::tokenizer_invalid, id.status().message());
        if (!id->has_value()) return -1;
        TAKT_RETURN_IF_ERROR(check_id(key, **id));
        return static_cast<int32_t>(**id);
    }

    Status load_special_ids() {
        Result<int32_t> bos = special_id("tokenizer.ggml.bos_token_id");
        if (!bos.ok()) return bos.status();
        Result<int32_t> eos = special_id("tokenizer.ggml.eos_token_id");
        if (!eos.ok()) return eos.status();
        out_.bos_id_ = *bos;
        out_.eos_id_ = *eos;
        if (out_.kind_ == VocabularyKind::sentencepiece) {
            // Old files leave out what every SentencePiece model of the Llama line has.
            if (out_.bos_id_ < 0 && count() > 1 && out_.text(1) == "<s>") out_.bos_id_ = 1;
            if (out_.eos_id_ < 0 && count() > 2 && out_.text(2) == "</s>") out_.eos_id_ = 2;
        }
        ends_ = {out_.eos_id_};
        for (const std::string_view key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
            Result<int32_t> id = special_id(key);
            if (!id.ok()) return id.status();
            ends_.push_back(*id);
        }
        TAKT_RETURN_IF_ERROR(load_end_list("tokenizer.ggml.eos_token_ids"));
        TAKT_RETURN_IF_ERROR(load_end_list("tokenizer.ggml.eog_token_ids"));
        if (!has_types_) {
            for (const int32_t id : ends_) mark_control(id);
            mark_control(out_.bos_id_);
        }
        return Status();
    }

    void mark_control(int32_t id) {
        if (id >= 0) out_.types_[static_cast<size_t>(id)] = TokenType::control;
    }

    Status load_end_list(std::string_view key) {
        Result<const GgufArray*> list = find_array(file_, key);
        if (!list.ok()) return list.status();
        if (*list == nullptr) return Status();
        const GgufArray& array = **list;
        if (array.unsigneds.size() + array.signeds.size() != array.size()) {
            return invalid("{} is an array of type {}, integers are needed.", key,
                           gguf_type_name(array.element_type));
        }
        for (const int64_t id : array.signeds) {
            if (id < 0) return invalid("{} holds {}, an id can't be negative.", key, id);
            TAKT_RETURN_IF_ERROR(check_id(key, static_cast<uint64_t>(id)));
            ends_.push_back(static_cast<int32_t>(id));
        }
        for (const uint64_t id : array.unsigneds) {
            TAKT_RETURN_IF_ERROR(check_id(key, id));
            ends_.push_back(static_cast<int32_t>(id));
        }
        return Status();
    }

    Result<bool> flag(std::string_view key, bool fallback) const {
        Result<std::optional<bool>> value = file_.get_bool(key);
        if (!value.ok()) return Status(StatusCode::tokenizer_invalid, value.status().message());
        return value->value_or(fallback);
    }

    Status load_rules(bool adds_bos_default) {
        Result<bool> adds_bos = flag("tokenizer.ggml.add_bos_token", adds_bos_default && out_.bos_id_ >= 0);
        if (!adds_bos.ok()) return adds_bos.status();
        Result<bool> adds_eos = flag("tokenizer.ggml.add_eos_token", false);
        if (!adds_eos.ok()) return adds_eos.status();
        out_.adds_bos_ = *adds_bos;
        out_.adds_eos_ = *adds_eos;
        if (out_.adds_bos_ && out_.bos_id_ < 0)
            return invalid("tokenizer.ggml.add_bos_token is true, but the file has no bos_token_id.");
        if (out_.adds_eos_ && out_.eos_id_ < 0)
            return invalid("tokenizer.ggml.add_eos_token is true, but the file has no eos_token_id.");
        add_ends_by_text();
        return Status();
    }

    void add_ends_by_text() {
        int32_t end = -1;
        int32_t call = -1;
        for (int32_t id = 0; static_cast<size_t>(id) < count(); ++id) {
            const TokenType type = out_.type(id);
            // In Gemma's vocabulary </s> is the user-defined token of struck text.
            const bool may_end =
                type == TokenType::control || (type == TokenType::user_defined && out_.text(id) != "</s>");
            if (!may_end) continue;
            if (!ends_generation(out_.text(id))) continue;
            ends_.push_back(id);
            if (out_.text(id) == "<|end|>") end = id;
            if (out_.text(id) == "<|call|>") call = id;
        }
        std::sort(ends_.begin(), ends_.end());
        ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
        std::erase(ends_, -1);
        // In gpt-oss, <|end|> ends a message within a generation; <|return|> and <|call|> end the generation.
        if (end >= 0 && call >= 0 && end != out_.eos_id_) std::erase(ends_, end);
        out_.end_of_generation_ids_ = std::move(ends_);
    }

    void index_texts() {
        out_.slots_.resize(std::bit_ceil(count() * 2));
        for (int32_t id = 0; static_cast<size_t>(id) < count(); ++id) {
            const std::string_view text = out_.text(id);
            switch (out_.type(id)) {
                case TokenType::control:
                case TokenType::unknown:
                    break;
                case TokenType::byte:
                    if (const int byte = parse_byte_text(text);
                        byte >= 0 && out_.byte_tokens_[static_cast<size_t>(byte)] < 0) {
                        out_.byte_tokens_[static_cast<size_t>(byte)] = id;
                    }
                    if (out_.kind_ == VocabularyKind::sentencepiece) break;
                    [[fallthrough]];
                default:
                    if (!text.empty()) out_.index(id);
            }
        }
    }

    const GgufFile& file_;
    Vocabulary& out_;
    bool has_types_ = false;
    std::vector<int32_t> ends_;
};

Result<Vocabulary> Vocabulary::load(const GgufFile& file, VocabularyKind kind, bool adds_bos_default) {
    Vocabulary vocabulary;
    TAKT_RETURN_IF_ERROR(VocabularyLoader(file, vocabulary).load(kind, adds_bos_default));
    return vocabulary;
}

}  // namespace takt
