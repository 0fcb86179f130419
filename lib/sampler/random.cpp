// Philox 4x32-10: ten rounds of a keyed bijection turn the counter (the position) into noise.
#include "sampler/random.h"

namespace takt {

double random_unit(uint64_t seed, uint64_t position) {
    constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
    constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
    uint32_t c0 = static_cast<uint32_t>(position), c1 = static_cast<uint32_t>(position >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t product0 = kMultiplier0 * c0, product1 = kMultiplier1 * c2;
        c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
        c1 = static_cast<uint32_t>(product1);
        c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
        c3 = static_cast<uint32_t>(product0);
        k0 += kWeyl0;
        k1 += kWeyl1;
    }
    const uint64_t bits = (uint64_t{c1} << 32 | c0) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace takt
