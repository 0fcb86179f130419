// The code books that the i types look their elements up in.
#pragma once

#include <cstdint>

namespace takt {

// Eight elements a point, two bits each: 0, 1, 2 stand for 8, 25, 43 (iq2_*) or -1, 0, 1 (iq1_*).
extern const uint16_t kGridIq2Xxs[256];
extern const uint16_t kGridIq2Xs[512];
extern const uint16_t kGridIq2S[1024];
extern const uint16_t kGridIq1S[2048];
// Four elements a point, three bits each: i stands for 8 i + 4, but 7 for 62 (iq3_xxs), or for 2 i + 1
// (iq3_s).
extern const uint16_t kGridIq3Xxs[256];
extern const uint16_t kGridIq3S[512];

}  // namespace takt
