// How figures are held against metric_vectors.json, entry by entry.
#pragma once

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "metric_vectors.h"

using Value = nlohmann::json;

// Equal but for the last bits of a sum in another order.
inline Approx exactly(const Value& value) {
    return Approx(value.get<double>()).epsilon(1e-14);
}
// To the digits that the file has.
inline Approx to_digits(const Value& value, double half_of_last) {
    return Approx(value.get<double>()).epsilon(0).margin(half_of_last * (1 + 1e-9));
}
inline double rounded(double value, int decimals) {
    const double scale = std::pow(10, decimals);
    return std::round(value * scale) / scale;
}
inline double number(const Value& entry, const char* key) {
    return entry.at("inp").at(key).get<double>();
}

using Checks = std::map<std::string, std::function<void(const Value&)>>;

// Each entry has its check, and each check its entry.
inline void check_by_id(const char* section, const Checks& checks) {
    std::set<std::string> seen;
    for (const Value& entry : metric_vectors(section)) {
        const auto id = entry.at("id").get<std::string>();
        INFO(section << " " << id);
        REQUIRE(checks.count(id) == 1);
        checks.at(id)(entry);
        seen.insert(id);
    }
    CHECK(seen.size() == checks.size());
}

inline std::set<std::string> keys_of(const Value& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
}
