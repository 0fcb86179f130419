// Messages to prompt: the model's own template, with the variables that templates expect, and exactly one
// BOS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/model.h"

namespace takt {

// json: an object whose members become the template's variables (messages, tools, …). Added where absent:
// bos_token, eos_token, and null for tools and documents, as templates expect. Errors: invalid_argument with
// the byte of the fault, template_missing, template_error. now_unix_seconds: what strftime_now shows; empty:
// now, in UTC.
Result<std::string> render_chat(const Model& model, std::string_view json, bool add_generation_prompt,
                                std::optional<int64_t> now_unix_seconds = {});

// The ids of rendered text: control tokens are parsed, and BOS is added only if the file asks for it and the
// template hasn't written it.
Result<std::vector<int32_t>> encode_rendered(const Model& model, std::string_view text);

}  // namespace takt
