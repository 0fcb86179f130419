// Text to token ids and back, by the rules of one model file. Immutable after create, safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"

namespace takt {

enum class TokenType : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct EncodeOptions {
    bool add_special = true;    // BOS and EOS as the file says
    bool parse_special = false; // control tokens written in the text become their ids; user-defined ones always do
};

class Tokenizer {
public:
    static Result<std::shared_ptr<const Tokenizer>> create(const GgufFile& file);
    virtual ~Tokenizer() = default;

    // Any bytes are legal input and none is lost: bytes that aren't UTF-8 are encoded by the vocabulary's byte tokens
    // (the README of the folder states the rule); a byte that has no token is an error naming it and its offset.
    virtual Result<std::vector<int32_t>> encode(std::string_view text, EncodeOptions options) const = 0;
    // The bytes one token stands for in output; control tokens give their text only if keep_special. Ids out of range give nothing.
    virtual std::string token_bytes(int32_t id, bool keep_special) const = 0;
    // True where the very first output token's leading space belongs to the tokenizer, not to the text (SentencePiece add_space_prefix).
    virtual bool strips_leading_space() const = 0;

    virtual uint32_t vocab_size() const = 0;
    virtual std::string_view token_text(int32_t id) const = 0;   // as it stands in the file
    virtual TokenType token_type(int32_t id) const = 0;
    virtual int32_t bos_id() const = 0;   // -1: the file has none
    virtual int32_t eos_id() const = 0;
    virtual bool adds_bos() const = 0;
    virtual bool adds_eos() const = 0;
    // EOS, EOT, EOM and whatever else of the file ends a generation.
    virtual bool is_end_of_generation(int32_t id) const = 0;
    virtual const std::vector<int32_t>& end_of_generation_ids() const = 0;
};

}  // namespace takt
