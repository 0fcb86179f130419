// A render's variables: one JSON object as a dict value.
#pragma once

#include "base/status.h"
#include "tokenizer/jinja/machine.h"

namespace takt::jinja {

// invalid_argument where the text is no JSON object (with the byte) or nests too deep. Key order is kept.
Result<Value> parse_context(const ChatTemplateLimits& limits, std::string_view json);

}  // namespace takt::jinja
