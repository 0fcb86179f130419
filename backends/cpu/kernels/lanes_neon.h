// What wide.inl.h needs of AdvSIMD beyond vec_neon.h. Included inside an ISA's namespace after that.

namespace {

inline VecI bits_of(VecF a) {
    return vreinterpretq_s32_f32(a);
}
inline VecF float_of(VecI a) {
    return vreinterpretq_f32_s32(a);
}
inline VecF swap_pairs(VecF a) {
    return vrev64q_f32(a);
}
inline float highest(VecF a) {
    const VecF two = max(a, vextq_f32(a, a, 2));
    return vgetq_lane_f32(max(two, vextq_f32(two, two, 1)), 0);
}

}  // namespace
