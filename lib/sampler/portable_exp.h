// exp() in plain products and sums: the C library's last bit differs between systems, and a draw must not.
#pragma once

namespace takt {

// x <= 0. Relative error below 1e-15; 0 where the result would be smaller than 1e-300.
double portable_exp(double x);

}  // namespace takt
