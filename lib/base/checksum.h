// A fast 64-bit checksum against damaged files. It finds accidents, not forgeries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace takt {

// About 8 bytes a cycle. Any change within eight aligned bytes changes the result, and any other change does
// with all but one chance in 2^64. The same on every machine.
uint64_t checksum64(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace takt
