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

enum class TokenType : uint8_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6
};

struct EncodeOptions {
    // BOS and EOS as the file says.
    bool add_special = true;
    // Control tokens written in the text become their ids; user-defined ones always do.
    bool parse_special = false;
};

class Tokenizer {
public:
    static Result<std::shared_ptr<const Tokenizer>> create(const GgufFile& file);
    virtual ~Tokenizer() = default;

    // Any bytes are legal input, NUL too, up to 2^31 - 1 of them. The rule for what isn't UTF-8: every byte
    // that is not part of a valid character (overlong forms and surrogates are none) becomes that byte's own
    // token, so that decoding gives the same bytes back. A byte that has no token in the vocabulary is an
    // error naming it and its offset in the text. Three things do change a text, because the models' own
    // tokenizers do it: Qwen's composes characters (NFC); a byte-level vocabulary without a token for an
    // ASCII control character (SmolLM2: U+0004 and five more) skips that character; in SentencePiece "▁"
    // (U+2581) is a space. With add_space_prefix one space is put at the start and behind control tokens.
    // Time n log n in the bytes of the text, on a flat stack.
    virtual Result<std::vector<int32_t>> encode(std::string_view text, EncodeOptions options) const = 0;
    // The bytes one token stands for in output; control and unknown tokens give their text only if
    // keep_special. Ids out of range give nothing.
    virtual std::string token_bytes(int32_t id, bool keep_special) const = 0;
    // True where the very first output token's leading space belongs to the tokenizer, not to the text
    // (SentencePiece add_space_prefix).
    virtual bool strips_leading_space() const = 0;

    virtual uint32_t vocab_size() const = 0;
    virtual std::string_view token_text(int32_t id) const = 0;  // as it stands in the file
    virtual TokenType token_type(int32_t id) const = 0;
    virtual int32_t bos_id() const = 0;  // -1: the file has none
    virtual int32_t eos_id() const = 0;
    virtual bool adds_bos() const = 0;
    virtual bool adds_eos() const = 0;
    // EOS, EOT, EOM, the file's lists of ends, and the tokens of end_of_generation.cpp that are special in
    // this file. Ascending.
    virtual bool is_end_of_generation(int32_t id) const = 0;
    virtual const std::vector<int32_t>& end_of_generation_ids() const = 0;
};

}  // namespace takt
