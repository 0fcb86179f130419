// Small files that Linux answers in (/proc, /sys), for the files of os_linux.
#pragma once

#include <fstream>
#include <string>

namespace takt::os {

// "" where there is none, or it can't be read.
inline std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace takt::os
