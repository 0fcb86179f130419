// One set of options to measure with: its runtime, its model, engines for its tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <takt/takt.hpp>

#include "bench/bench_options.h"
#include "bench/profile.h"
#include "bench/round.h"
#include "report.h"
#include "tune.h"

namespace cli {

class Side {
public:
    // Loads the model. threads: all values of -t that will be used.
    Side(SideOptions options, const std::vector<std::string>& threads);
    // On the runtime and model of another one, whose options must allow it.
    Side(SideOptions options, const Side& other);
    static bool may_share(const SideOptions& first, const SideOptions& second);

    const SideOptions& options() const { return options_; }
    const takt::Runtime& runtime() const { return *runtime_; }
    const takt::Model& model() const { return *model_; }
    uint32_t chunk_tokens() const;

    // Of one value of -t.
    ThreadCounts counts(const std::string& threads);
    void use(const ThreadCounts& counts) const { runtime_->set_threads(counts.prefill, counts.decode); }

    takt::EngineOptions engine_settings(const BenchShape& shape) const;
    // A test's result without its rates.
    Json conditions(const BenchShape& shape, BenchTest test, const ThreadCounts& counts) const;

private:
    SideOptions options_;
    std::shared_ptr<const takt::Runtime> runtime_;
    std::shared_ptr<const takt::Model> model_;
    std::map<std::string, ThreadCounts> counts_;
};

// on_step of an engine that is slowed down.
std::function<void(const takt_step&)> slowdown(const takt::Runtime& runtime, double percent);

}  // namespace cli
