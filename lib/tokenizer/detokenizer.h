// Ids to bytes as they come: never half a UTF-8 character, no byte lost.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"

namespace takt {

class Detokenizer {
public:
    // keep_special: control tokens are written out as text. continues_text: the ids follow other text, so a
    // SentencePiece leading space is part of the output (generation after a prompt).
    Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool keep_special, bool continues_text);

    // The bytes that are complete after this id; an unfinished character is held back. Bytes that can't
    // become UTF-8 are passed on as they are (valid_only = false) or as U+FFFD (valid_only = true).
    std::string append(int32_t id, bool valid_only);
    // What is still held back; call once at the end.
    std::string flush(bool valid_only);

private:
    std::shared_ptr<const Tokenizer> tokenizer_;
    std::string pending_;
    bool keep_special_;
    bool at_start_;  // the next text may begin with the space that the encoder put there
};

}  // namespace takt
