// What `takt run --timeline` shows: bars, percentiles, promises.
#pragma once

#include <string>
#include <vector>

#include <takt/takt.hpp>

#include "numbers/timeline.h"

namespace cli {

// Collects the events of one answer.
class TimelineCollector {
public:
    void token(const takt::Event& event);
    std::string text(const takt_timing& timing, const takt_totals& totals) const;

private:
    std::vector<TimelineStep> steps_;
};

}  // namespace cli
