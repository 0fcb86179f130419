// The texts by which model families mark the end of a generation.
#pragma once

#include <string_view>

namespace takt {

// True if a control or user-defined token of this text ends a generation in every family that has it.
bool ends_generation(std::string_view token_text);

}  // namespace takt
