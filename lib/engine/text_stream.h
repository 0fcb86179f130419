// Tokens to the text a reader may see: whole characters, and nothing of a stop string, not even its
// beginning.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/token_texts.h"

namespace takt {

class TextStream {
public:
    TextStream(std::shared_ptr<const TokenTexts> texts, std::vector<std::string> stop_strings);

    // Text that became certain with this token; valid UTF-8; borrowed until the next call.
    std::string_view append(int32_t id);
    // What was held back; empty after a stop string.
    std::string_view flush();
    bool stopped() const { return stopped_; }

private:
    void complete(bool at_end);
    std::string_view release();
    size_t held_bytes() const;

    std::shared_ptr<const TokenTexts> texts_;
    std::vector<std::string> stop_strings_;
    std::string pending_;  // of a character whose other bytes are to come
    std::string held_;     // whole characters that may become a stop string
    std::string out_;
    bool at_start_ = false;  // a leading space would be the tokenizer's own: behind a control token
    bool stopped_ = false;
};

}  // namespace takt
