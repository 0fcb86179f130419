// Holds back the bytes of an unfinished character until the tokens behind it finish it or rule it out.
#include "tokenizer/detokenizer.h"

#include "base/utf8.h"

namespace takt {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Moves what is decided from pending to the result; at_end decides the rest too.
std::string take_complete(std::string& pending, bool valid_only, bool at_end) {
    std::string out;
    size_t pos = 0;
    while (pos < pending.size()) {
        const Utf8Step step = utf8_step(pending, pos);
        if (step.kind == Utf8Kind::incomplete && !at_end) break;
        if (step.kind == Utf8Kind::valid || !valid_only) {
            out.append(pending, pos, step.size);
        } else {
            out += kReplacement;
        }
        pos += step.size;
    }
    pending.erase(0, pos);
    return out;
}

}  // namespace

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool keep_special, bool continues_text)
    : tokenizer_(std::move(tokenizer)),
      keep_special_(keep_special),
      at_start_(!continues_text && tokenizer_->strips_leading_space()) {}

std::string Detokenizer::append(int32_t id, bool valid_only) {
    std::string bytes = tokenizer_->token_bytes(id, keep_special_);
    const TokenType type = tokenizer_->token_type(id);
    if (type == TokenType::control || type == TokenType::unknown) {
        // The encoder puts its space behind control tokens too.
        at_start_ = tokenizer_->strips_leading_space();
    } else if (at_start_ && !bytes.empty()) {
        if (bytes[0] == ' ') bytes.erase(0, 1);
        at_start_ = false;
    }
    pending_ += bytes;
    return take_complete(pending_, valid_only, false);
}

std::string Detokenizer::flush(bool valid_only) {
    return take_complete(pending_, valid_only, true);
}

}  // namespace takt
