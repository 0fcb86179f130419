// The sentence of the calling thread's last failed call: the only thread-local state of takt.
#pragma once

#include <string_view>

namespace takt::api {

// Keeps the sentence for this thread, without control characters and in at most about a thousand bytes. If
// memory runs out, a shorter fixed sentence takes its place.
void set_last_error(std::string_view sentence) noexcept;
// Zero-terminated; valid until this thread's next failed call.
const char* last_error() noexcept;

}  // namespace takt::api
