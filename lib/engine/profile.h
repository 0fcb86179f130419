// Where the time of one step goes, and how near that comes to what the machine can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime.h"
#include "model/model.h"
#include "program/step_cost.h"

namespace takt {

// A step of n_sequences sequences with n_rows rows each; the last n_output_rows of each go through the head.
struct ProfileOptions {
    std::string backend;  // "": the best one
    uint32_t n_sequences = 1, n_rows = 1, first_position = 0, n_output_rows = 1;
    uint32_t repetitions = 0;       // 0: nothing runs, only counts
    std::optional<DType> kv_dtype;  // unset: the backend's choice
    bool limits = false;            // measure the machine too, and another library's products in these shapes
};

// All parts of one name.
struct ProfilePart {
    std::string name;
    uint32_t count = 0;  // a step
    uint64_t median_ns = 0;
    uint64_t operations = 0;                            // of its products; 0 without
    std::optional<double> peer_int8_ns, peer_float_ns;  // another library's products of the same shapes
};

struct Profile {
    StepCost cost;
    uint64_t kv_bytes = 0;   // recurrent state included
    uint64_t median_ns = 0;  // of the step; 0 if nothing ran
    std::vector<ProfilePart> parts;
    std::optional<DeviceLimits> limits;  // reads of weight_bytes + kv_bytes; products of 512 x 1536 x 8960
    uint32_t n_threads = 0;
    std::string backend;
};

// Loads the weights if no engine has. Keeps the runtime's other steps waiting while a step runs.
Result<Profile> profile_step(Runtime& runtime, const Model& model, const ProfileOptions& options);

}  // namespace takt
