// Tokenizer::create, and what both kinds do alike: special tokens out of the text, BOS and EOS around it.
#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "tokenizer/bpe_encoder.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/normalize.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/spm_encoder.h"
#include "base/utf8.h"
#include "tokenizer/vocabulary.h"

namespace takt {
namespace {

constexpr size_t kMaxTextBytes = (size_t{1} << 31) - 1;

class VocabularyTokenizer : public Tokenizer {
public:
    explicit VocabularyTokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
        for (int32_t id = 0; vocabulary_.contains(id); ++id) {
            const TokenType type = vocabulary_.type(id);
            if (type == TokenType::user_defined) {
                user_defined_.add(vocabulary_.bytes(id), id);
                all_special_.add(vocabulary_.bytes(id), id);
            } else if (type == TokenType::control || type == TokenType::unknown) {
                all_special_.add(vocabulary_.text(id), id);
            }
        }
        user_defined_.build();
        all_special_.build();
    }

    Result<std::vector<int32_t>> encode(std::string_view text, EncodeOptions options) const override {
        if (text.size() > kMaxTextBytes) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("Text has {} bytes, the limit is {}.", text.size(), kMaxTextBytes));
        }
        std::vector<int32_t> ids;
        if (options.add_special && vocabulary_.adds_bos()) ids.push_back(vocabulary_.bos_id());
        size_t begin = 0;
        bool starts_text = true;  // at the text's start, or right behind a control token
        for (const SpecialMatcher::Match& match :
             (options.parse_special ? all_special_ : user_defined_).find(text)) {
            TAKT_RETURN_IF_ERROR(
                encode_plain(text.substr(begin, match.begin - begin), begin, starts_text, ids));
            ids.push_back(match.id);
            begin = match.begin + match.size;
            starts_text = vocabulary_.type(match.id) != TokenType::user_defined;
        }
        TAKT_RETURN_IF_ERROR(encode_plain(text.substr(begin), begin, starts_text, ids));
        if (options.add_special && vocabulary_.adds_eos()) ids.push_back(vocabulary_.eos_id());
        return ids;
    }

    std::string token_bytes(int32_t id, bool keep_special) const override {
        if (!vocabulary_.contains(id)) return {};
        const TokenType type = vocabulary_.type(id);
        if (!keep_special && (type == TokenType::control || type == TokenType::unknown)) return {};
        return vocabulary_.bytes(id);
    }

    uint32_t vocab_size() const override { return vocabulary_.size(); }
    std::string_view token_text(int32_t id) const override {
        return vocabulary_.contains(id) ? vocabulary_.text(id) : std::string_view();
    }
    TokenType token_type(int32_t id) const override {
        return vocabulary_.contains(id) ? vocabulary_.type(id) : TokenType::unused;
    }
    int32_t bos_id() const override { return vocabulary_.bos_id(); }
    int32_t eos_id() const override { return vocabulary_.eos_id(); }
    bool adds_bos() const override { return vocabulary_.adds_bos(); }
    bool adds_eos() const override { return vocabulary_.adds_eos(); }
    bool is_end_of_generation(int32_t id) const override {
        return std::binary_search(end_of_generation_ids().begin(), end_of_generation_ids().end(), id);
    }
    const std::vector<int32_t>& end_of_generation_ids() const override {
        return vocabulary_.end_of_generation_ids();
    }

protected:
    // Text without special tokens, from `offset` of the whole text on.
    virtual Status encode_plain(std::string_view text, size_t offset, bool starts_text,
                                std::vector<int32_t>& ids) const = 0;

    const Vocabulary vocabulary_;

private:
    SpecialMatcher user_defined_;
    SpecialMatcher all_special_;
};

// "gpt2": pieces by the file's split rule, then merges. Bytes that aren't UTF-8 stand alone between the
// pieces.
class ByteLevelTokenizer final : public VocabularyTokenizer {
public:
    ByteLevelTokenizer(Vocabulary vocabulary, BpeEncoder encoder, const PreTokenizer& pre)
        : VocabularyTokenizer(std::move(vocabulary)), encoder_(std::move(encoder)), pre_(pre) {
        for (int byte = 0; byte < 256; ++byte) lacks_bytes_ |= refuses(static_cast<uint8_t>(byte));
    }

    bool strips_leading_space() const override { return false; }

private:
    struct Work {
        std::string normalized;
        std::string letters;
        std::vector<uint32_t> piece_ends;
        BpeEncoder::Scratch scratch;
    };

    Status encode_plain(std::string_view text, size_t offset, bool,
                        std::vector<int32_t>& ids) const override {
        Work work;
        for (size_t pos = 0; pos < text.size();) {
            const size_t end = utf8_valid_end(text, pos);
            if (end == pos) {
                const auto byte = static_cast<uint8_t>(text[pos]);
                if (encoder_.byte_token(byte) < 0) return no_token(byte, offset + pos);
                ids.push_back(encoder_.byte_token(byte));
                ++pos;
                continue;
            }
            TAKT_RETURN_IF_ERROR(encode_valid(text.substr(pos, end - pos), offset + pos, work, ids));
            pos = end;
        }
        return Status();
    }

    Status encode_valid(std::string_view source, size_t offset, Work& work, std::vector<int32_t>& ids) const {
        const std::string_view text = pre_.normalizes_nfc ? normalize_nfc(source, work.normalized) : source;
        if (lacks_bytes_) TAKT_RETURN_IF_ERROR(check_bytes(source, text, offset));
        split_pieces(pre_.rule, text, work.piece_ends);
        size_t begin = 0;
        for (const uint32_t end : work.piece_ends) {
            encode_piece(text.substr(begin, end - begin), work, ids);
            begin = end;
        }
        return Status();
    }

    void encode_piece(std::string_view piece, Work& work, std::vector<int32_t>& ids) const {
        if (pre_.prefers_whole_pieces && piece.size() <= vocabulary_.longest_text_bytes()) {
            work.letters.clear();
            append_letters(work.letters, piece);
            if (const int32_t id = vocabulary_.find(work.letters); id >= 0) {
                ids.push_back(id);
                return;
            }
        }
        encoder_.encode_piece(piece, work.scratch, ids);
    }

    // Some vocabularies were made from text without certain control characters; their own tokenizers skip
    // those.
    static bool is_skippable(uint8_t byte) {
        return byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
    }
    bool refuses(uint8_t byte) const { return encoder_.byte_token(byte) < 0 && !is_skippable(byte); }

    Status check_bytes(std::string_view source, std::string_view text, size_t offset) const {
        const auto refused = [this](char byte) { return refuses(static_cast<uint8_t>(byte)); };
        const auto bad = std::find_if(text.begin(), text.end(), refused);
        if (bad == text.end()) return Status();
        // Normalization moves bytes: then the first refused byte of the source is the best answer, or the
        // text's start.
        const auto in_source = std::find_if(source.begin(), source.end(), refused);
        const size_t place = in_source == source.end() ? 0 : static_cast<size_t>(in_source - source.begin());
        return no_token(static_cast<uint8_t>(*bad), offset + place);
    }

    static Status no_token(uint8_t byte, size_t offset) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("Byte 0x{:02X} at offset {} of the text has no token in the vocabulary.",
                                  byte, offset));
    }

    BpeEncoder encoder_;
    PreTokenizer pre_;
    bool lacks_bytes_ = false;
};

// "llama": merges by score over whole stretches of text.
class SentencePieceTokenizer final : public VocabularyTokenizer {
public:
    SentencePieceTokenizer(Vocabulary vocabulary, bool adds_space)
        : VocabularyTokenizer(std::move(vocabulary)), encoder_(vocabulary_), adds_space_(adds_space) {}

    bool strips_leading_space() const override { return adds_space_; }

private:
    Status encode_plain(std::string_view text, size_t offset, bool starts_text,
                        std::vector<int32_t>& ids) const override {
        return encoder_.encode(text, adds_space_ && starts_text, offset, ids);
    }

    SpmEncoder encoder_;
    bool adds_space_;
};

Status tokenizer_error(const Status& status) {
    return Status(StatusCode::tokenizer_invalid, status.message());
}

Result<std::shared_ptr<const Tokenizer>> create_byte_level(const GgufFile& file) {
    Result<std::optional<std::string_view>> name = file.get_string("tokenizer.ggml.pre");
    if (!name.ok()) return tokenizer_error(name.status());
    const std::string_view pre_name = name->value_or("default");
    const std::optional<PreTokenizer> pre = find_pre_tokenizer(pre_name);
    if (!pre) {
        return Status(
            StatusCode::tokenizer_invalid,
            fmt::format("tokenizer.ggml.pre is '{}', a split rule that takt doesn't know; it knows {}.",
                        pre_name, pre_tokenizer_names()));
    }
    Result<Vocabulary> vocabulary = Vocabulary::load(file, VocabularyKind::byte_level, pre->adds_bos);
    if (!vocabulary.ok()) return vocabulary.status();
    Result<BpeEncoder> encoder = BpeEncoder::create(file, *vocabulary);
    if (!encoder.ok()) return encoder.status();
    return std::shared_ptr<const Tokenizer>(
        std::make_shared<ByteLevelTokenizer>(std::move(*vocabulary), std::move(*encoder), *pre));
}

Result<std::shared_ptr<const Tokenizer>> create_sentencepiece(const GgufFile& file) {
    Result<std::optional<bool>> adds_space = file.get_bool("tokenizer.ggml.add_space_prefix");
    if (!adds_space.ok()) return tokenizer_error(adds_space.status());
    Result<Vocabulary> vocabulary = Vocabulary::load(file, VocabularyKind::sentencepiece, true);
    if (!vocabulary.ok()) return vocabulary.status();
    return std::shared_ptr<const Tokenizer>(
        std::make_shared<SentencePieceTokenizer>(std::move(*vocabulary), adds_space->value_or(true)));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(const GgufFile& file) {
    Result<std::optional<std::string_view>> model = file.get_string("tokenizer.ggml.model");
    if (!model.ok()) return tokenizer_error(model.status());
    if (!model->has_value())
        return Status(StatusCode::tokenizer_invalid, "The file has no tokenizer.ggml.model.");
    if (**model == "gpt2") return create_byte_level(file);
    if (**model == "llama") return create_sentencepiece(file);
    return Status(StatusCode::tokenizer_invalid,
                  fmt::format("tokenizer.ggml.model is '{}', takt reads gpt2 and llama.", **model));
}

}  // namespace takt
