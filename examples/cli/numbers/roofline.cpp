// Bounds: a real machine stays below them.
#include "numbers/roofline.h"

namespace cli {
namespace {

constexpr double kOperationsPerWeight = 2;  // a product and a sum

}  // namespace

double attention_scores(double prompt_tokens) {
    return prompt_tokens * prompt_tokens;
}

double weight_read_bytes(double parameters, double bytes_per_parameter) {
    return parameters * bytes_per_parameter;
}

double prefill_intensity(double rows, double bytes_per_parameter) {
    return kOperationsPerWeight * rows / bytes_per_parameter;
}

double ridge_point(double operations_per_second, double bytes_per_second) {
    return operations_per_second / bytes_per_second;
}

double decode_bound(const DecodeLoad& load, double bytes_per_second) {
    return load.batch * bytes_per_second / (load.weight_bytes + load.batch * load.kv_bytes);
}

double bandwidth_for(const DecodeLoad& load, double tokens_per_second) {
    return tokens_per_second * (load.weight_bytes + load.batch * load.kv_bytes) / load.batch;
}

double operations_for(double parameters, double prompt_tokens_per_second) {
    return kOperationsPerWeight * parameters * prompt_tokens_per_second;
}

}  // namespace cli
