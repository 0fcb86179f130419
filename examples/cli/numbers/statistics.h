// Plain numbers about lists of samples.
#pragma once

#include <vector>

namespace cli {

// Of an even count the mean of the two in the middle; NaN of none.
double median(std::vector<double> values);

}  // namespace cli
