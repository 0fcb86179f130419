// Unicode normalization form C for the tokenizers that were trained on it.
#pragma once

#include <string>
#include <string_view>

namespace takt {

// text must be valid UTF-8. Near-linear on any input, long runs of combining marks included.
// Returns text itself where nothing changes, else a view of buffer.
std::string_view normalize_nfc(std::string_view text, std::string& buffer);

}  // namespace takt
