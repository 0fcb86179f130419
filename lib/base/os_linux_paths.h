// Checks and sentences that the files of os_linux share.
#pragma once

#include <string>

#include <sys/stat.h>

#include "base/status.h"

namespace takt::os {

// "Opening NAME failed: No such file or directory."
Status failed(const char* doing, const std::string& name, int error);
Status check_regular(const std::string& name, const struct stat& info);
Status check_path(const std::string& path);

}  // namespace takt::os
