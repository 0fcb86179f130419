// tests/data/metric_vectors.json: numbers that were worked out apart from takt.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

inline nlohmann::json metric_vectors(const char* part) {
    std::ifstream file(std::string(TAKT_TEST_DATA_DIR) + "/metric_vectors.json");
    if (!file) throw std::runtime_error("metric_vectors.json is not there");
    return nlohmann::json::parse(file).at(part);
}
