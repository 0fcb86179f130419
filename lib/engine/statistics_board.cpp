// A reader holds the lock while it copies the buckets in use, some ten microseconds.
#include "engine/statistics_board.h"

#include <algorithm>

namespace takt {

void StatisticsBoard::publish(const Totals& totals, const Gauges& gauges) {
    const std::lock_guard lock(mutex_);
    live_ = totals;
    gauges_ = gauges;
}

void StatisticsBoard::record(const EndedRequest& request) {
    const std::lock_guard lock(mutex_);
    ended_.record(request, smooth_);
}

void StatisticsBoard::record_step(uint32_t n_rows) {
    const std::lock_guard lock(mutex_);
    ended_[Series::step_tokens].record(n_rows);
}

void StatisticsBoard::record_page_lifetime(uint64_t ns) {
    const std::lock_guard lock(mutex_);
    ended_[Series::page_lifetime].record(ns);
}

void StatisticsBoard::record_shed(const Slo& slo) {
    const std::lock_guard lock(mutex_);
    ended_.record_shed(slo);
}

EngineStatistics StatisticsBoard::read() const {
    const std::lock_guard lock(mutex_);
    EngineStatistics statistics;
    static_cast<Gauges&>(statistics) = gauges_;
    static_cast<Totals&>(statistics) = ended_.totals;
    static_cast<Totals&>(statistics) += live_;
    return statistics;
}

void StatisticsBoard::snapshot(Statistics& copy, const Clock& clock) const {
    const std::lock_guard lock(mutex_);
    copy.assign(ended_);
    copy.totals += live_;
    copy.gauges = gauges_;
    copy.end_ns = std::max(copy.begin_ns, clock.now_ns());
}

}  // namespace takt
