// How a command ends early: Failure is exit status 1, WrongUsage is 2; what() is the sentence that goes to
// stderr.
#pragma once

#include <stdexcept>
#include <string>

namespace cli {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct WrongUsage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cli
