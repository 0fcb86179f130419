// Where tests find the real models: TAKT_MODEL_DIR, else TAKT_CACHE, else ~/.cache/takt.
#pragma once

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace takt::test {

inline std::string model_folder() {
    for (const char* name : {"TAKT_MODEL_DIR", "TAKT_CACHE"}) {
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
    }
    const char* home = std::getenv("HOME");
    return (home != nullptr ? std::string(home) : std::string(".")) + "/.cache/takt";
}

// Empty, with a warning, where the model isn't there: the test then returns, which counts as skipped.
inline std::string model_path(const std::string& file_name) {
    const std::string path = model_folder() + "/" + file_name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path;
    WARN("skipped: no " << path << " (set TAKT_MODEL_DIR)");
    return {};
}

}  // namespace takt::test
