// What an engine has done and holds, for whoever watches it: the worker writes, anyone reads.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/clock.h"
#include "timing/statistics.h"

namespace takt {

// All that a poll wants, without the histograms.
struct EngineStatistics : Totals, Gauges {};

class StatisticsBoard {
public:
    StatisticsBoard(uint64_t begin_ns, const SmoothRule& smooth) : smooth_(smooth) {
        ended_.begin_ns = ended_.end_ns = begin_ns;
    }
    const SmoothRule& smooth() const { return smooth_; }

    // The worker's counters as they are now; those of ended requests are kept here.
    void publish(const Totals& totals, const Gauges& gauges);
    void record(const EndedRequest& request);
    void record_step(uint32_t n_rows);
    void record_page_lifetime(uint64_t ns);
    void record_shed(const Slo& slo);  // any thread

    EngineStatistics read() const;
    // Into new ones, whose memory is there before the lock.
    void snapshot(Statistics& copy, const Clock& clock) const;

private:
    const SmoothRule smooth_;
    mutable std::mutex mutex_;
    Statistics ended_;
    Totals live_;
    Gauges gauges_;
};

}  // namespace takt
