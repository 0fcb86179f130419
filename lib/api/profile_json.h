// A step's profile as JSON.
#pragma once

#include <string>

#include "engine/profile.h"

namespace takt::api {

std::string profile_json(const Profile& profile);

}  // namespace takt::api
