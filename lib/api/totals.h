// A snapshot's counters as takt_totals.
#pragma once

#include "takt/takt.h"
#include "timing/statistics.h"

namespace takt::api {

takt_totals make_totals(const Statistics& statistics, const Origin& origin);

}  // namespace takt::api
