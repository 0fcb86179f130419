// A chat message to the ids that the model wants to see.
#pragma once

#include <string>
#include <vector>

#include <takt/takt.hpp>

namespace cli {

// Rendered by the model's template; exactly one BOS if the file wants one, no EOS behind the prompt.
std::vector<int32_t> chat_ids(const takt::Model& model, const std::string& system,
                              const std::string& message);

// Whether the file puts BOS before a text.
bool adds_bos(const takt::Model& model);

}  // namespace cli
