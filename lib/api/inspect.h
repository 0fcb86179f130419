// A model as one JSON object: what the file holds, and what takt does with it.
#pragma once

#include <string>
#include <string_view>

#include "backend/backend.h"
#include "model/model.h"

namespace takt::api {

// device: the backend that has the weights or would get them; nullptr if it isn't there. packed_bytes: 0 if
// they aren't loaded. Bytes that are no UTF-8 become U+FFFD.
std::string inspect_json(const Model& model, const Backend* device, uint64_t packed_bytes);

// Elements of all tensors that the program uses.
uint64_t parameter_count(const Model& model);

}  // namespace takt::api
