// Times and run conditions, as JSON and as text for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>
#include <takt/takt.hpp>

#include "options.h"

namespace cli {

using Json = nlohmann::ordered_json;

// Valid UTF-8 whatever the strings hold, one line, with its line end.
std::string json_line(const Json& object);

Json gap_json(const takt_gap& gap);
// Undefined times and rates are null.
Json timing_json(const takt_timing& timing);
std::string timing_text(const takt_timing& timing);

// What a number was measured with: backend, ISA, threads, CPU, model.
Json conditions_json(const takt::Runtime& runtime, const takt::Model& model, const CommonOptions& options,
                     const std::string& backend);

takt_backend_info backend_in_use(const takt::Runtime& runtime, const std::string& name);

}  // namespace cli
