// What a machine's bandwidth and operations allow a model, and what a wanted rate asks of a machine.
#pragma once

namespace cli {

// Scores of one head of one layer over a whole prompt.
double attention_scores(double prompt_tokens);
// Read for each decode step, whatever the batch.
double weight_read_bytes(double parameters, double bytes_per_parameter);
// Operations for each byte of weights in a prefill of so many rows: 2 P T / (P bytes).
double prefill_intensity(double rows, double bytes_per_parameter);
// Operations a byte at which a machine's two limits meet.
double ridge_point(double operations_per_second, double bytes_per_second);

struct DecodeLoad {
    double weight_bytes = 0;
    double kv_bytes = 0;  // keys and values of one sequence
    double batch = 1;     // sequences that share a read of the weights
};
// Tokens per second of the whole batch, at most.
double decode_bound(const DecodeLoad& load, double bytes_per_second);
// The inverse: bytes per second for so many tokens per second of the whole batch.
double bandwidth_for(const DecodeLoad& load, double tokens_per_second);
// A prefill multiplies every weight once a token: 2 operations each.
double operations_for(double parameters, double prompt_tokens_per_second);

}  // namespace cli
