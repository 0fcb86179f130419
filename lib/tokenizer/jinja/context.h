// A render's variables: one JSON object as a dict value.
#pragma once

#include "base/status.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

// invalid_argument where the text is no JSON object (with the byte) or nests too deep. Key order is kept.
Result<Value> parse_context(const ChatTemplateLimits& limits, std::string_view json);

// parsed, a dict, as the variables of a conversation. invalid_argument where messages is missing or isn't
// one.
Result<Value> chat_context(const Value& parsed, const ChatVariables& added);

}  // namespace takt::jinja
