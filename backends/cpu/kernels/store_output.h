// The end of every product of an ISA but scalar. Included inside an ISA's namespace after its vec_<isa>.h.

namespace {

// Adds bias and what out held, and writes the lanes that are rows of the matrix.
inline void store_output(const MatmulCall& call, VecF sum, size_t row, size_t vector) {
    const size_t output = vector * kLanes;
    if (output >= call.layout.rows) return;
    const size_t left = call.layout.rows - output;
    const int n = left < kLanes ? static_cast<int>(left) : kLanes;
    float* out = call.out + row * call.out_stride + output;
    if (n == kLanes) {
        if (call.bias != nullptr) sum = add(sum, load(call.bias + output));
        store(out, call.accumulate ? add(load(out), sum) : sum);
    } else {
        if (call.bias != nullptr) sum = add(sum, load_first(call.bias + output, n));
        store_first(out, call.accumulate ? add(load_first(out, n), sum) : sum, n);
    }
}

}  // namespace
