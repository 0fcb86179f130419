// Tokens to the text a reader may see: whole characters, and nothing of a stop string, not even its beginning.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/detokenizer.h"

namespace takt {

class TextStream {
public:
    TextStream(std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> stop_strings);

    // Text that became certain with this token; valid UTF-8; borrowed until the next call.
    std::string_view append(int32_t id);
    // What was held back; empty after a stop string.
    std::string_view flush();
    bool stopped() const { return stopped_; }

private:
    std::string_view release(std::string_view fresh);
    size_t held_bytes() const;

    Detokenizer detokenizer_;
    std::vector<std::string> stop_strings_;
    std::string held_, out_;
    bool stopped_ = false;
};

}  // namespace takt
