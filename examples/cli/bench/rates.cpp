// A cell is one combination of -p -n -d -b -t; its requests give a prefill and a decode result. What a file
// has already, or an earlier cell gave, isn't measured again.
#include "bench/rates.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bench/cells.h"
#include "bench/compare.h"
#include "bench/profile.h"
#include "bench/rate_plot.h"
#include "bench/rate_print.h"
#include "bench/result_file.h"
#include "bench/round.h"
#include "bench/side.h"
#include "failure.h"
#include "numbers/statistics.h"
#include "system.h"

namespace cli {
namespace {

// A side, where its results go, and those it has.
struct Lane {
    std::unique_ptr<Side> side;
    std::unique_ptr<ResultFile> file;
    std::vector<Json> results;  // of this call of the command, those that the file had included
    std::string versus;         // the options of the second
    std::string threads;        // of every cell; empty: the cell's

    const std::string& threads_of(const Cell& cell) const { return threads.empty() ? cell.threads : threads; }
    const Json* find(const Json& wanted) const {
        for (const Json& result : results) {
            if (same_test(result, wanted)) return &result;
        }
        return nullptr;
    }
};

class RateRun {
public:
    explicit RateRun(const BenchOptions& options) : options_(options), printer_(options) {}

    int run() {
        open_files();
        load();
        const Lane& first = lanes_.front();
        const std::vector<std::string> threads = thread_items(options_.side);
        const std::string count =
            fmt::to_string(threads.front() == "auto" ? first.side->runtime().thread_count()
                                                     : first.side->counts(threads.front()).decode);
        printer_.begin(conditions_json(first.side->runtime(), first.side->model(), options_.side.common,
                                       options_.side.common.backend),
                       threads.size() == 1 ? count : fmt::format("{}", fmt::join(threads, ", ")));
        for (const Cell& cell : cells_of(options_)) run_cell(cell);
        if (n_skipped_ > 0)
            write_stderr(fmt::format("takt: note: {} results were there already.\n", n_skipped_));
        if (!options_.plot.empty()) plot();
        return 0;
    }

private:
    struct Wanted {
        BenchTest test;
        std::array<Json, 2> lines;  // one a lane, without rates
    };

    void open_files() {
        lanes_.resize(options_.versus ? 2 : 1);
        const std::array paths = {&options_.output, &options_.versus_output};
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (!paths[i]->empty()) lanes_[i].file = std::make_unique<ResultFile>(*paths[i]);
        }
    }

    void load() {
        std::vector<std::string> threads = thread_items(options_.side);
        if (lanes_.size() == 1) {
            lanes_[0].side = std::make_unique<Side>(options_.side, threads);
            return;
        }
        const SideOptions second = second_side(options_.side, *options_.versus);
        Lane& lane = lanes_[1];
        lane.versus = options_.versus->empty() ? "the same options" : *options_.versus;
        if (second.common.threads != options_.side.common.threads) lane.threads = second.common.threads;
        if (Side::may_share(options_.side, second)) {
            if (!lane.threads.empty()) threads.push_back(lane.threads);
            lanes_[0].side = std::make_unique<Side>(options_.side, threads);
            lane.side = std::make_unique<Side>(second, *lanes_[0].side);
        } else {
            lanes_[0].side = std::make_unique<Side>(options_.side, threads);
            lane.side =
                std::make_unique<Side>(second, lane.threads.empty() ? threads : std::vector{lane.threads});
        }
    }

    void run_cell(const Cell& cell) {
        std::vector<Wanted> wanted;
        for (const BenchTest test : kTests) {
            if (tokens_of(cell.shape, test) == 0) continue;
            Wanted want{test, {}};
            bool known = true;
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                want.lines[i] = empty_line(lanes_[i], cell, test);
                known = known && lanes_[i].find(want.lines[i]) != nullptr;
            }
            if (!known) wanted.push_back(std::move(want));  // else an earlier cell had it
        }
        if (wanted.empty()) return;
        if (!take_from_files(wanted)) measure(cell, wanted);
        for (const Wanted& want : wanted) print(want);
        if (options_.ops) print_ops(cell);
    }

    Json empty_line(Lane& lane, const Cell& cell, BenchTest test) {
        const BenchShape& shape = cell.shape;
        Json line;
        line["test"] = name_of(test);
        line["tokens"] = tokens_of(shape, test);
        line["depth"] = shape.depth + (test == BenchTest::decode ? shape.prompt_tokens : 0);
        line["sequences"] = shape.sequences;
        line["tokens_per_second"] = Json::array();
        line["median"] = nullptr;
        line.update(lane.side->conditions(shape, test, lane.side->counts(lane.threads_of(cell))));
        line["repetitions"] = options_.repetitions;
        return line;
    }

    // False, and nothing taken, unless the files have all of it.
    bool take_from_files(const std::vector<Wanted>& wanted) {
        std::array<std::vector<Json>, 2> found;
        for (const Wanted& want : wanted) {
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                const Json* result = lanes_[i].file ? lanes_[i].file->find(want.lines[i]) : nullptr;
                if (result == nullptr) return false;
                found[i].push_back(*result);
            }
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            n_skipped_ += found[i].size();
            std::move(found[i].begin(), found[i].end(), std::back_inserter(lanes_[i].results));
        }
        return true;
    }

    void measure(const Cell& cell, std::vector<Wanted>& wanted) {
        // Two engines' threads could lie on cores of unequal load: both work on this one.
        const Drives drives = lanes_.size() > 1 ? Drives::caller : Drives::engine;
        std::vector<takt::Engine> engines;
        for (const Lane& lane : lanes_) {
            takt::EngineOptions settings = lane.side->engine_settings(cell.shape);
            settings.step_driven = drives == Drives::caller;
            engines.emplace_back(lane.side->model(), settings);
        }
        std::array<std::vector<double>, 2> prefill, decode;
        for (uint32_t round = 0; round <= options_.repetitions; ++round) {
            for (std::size_t turn = 0; turn < lanes_.size(); ++turn) {
                const std::size_t i = round % 2 == 0 ? turn : lanes_.size() - 1 - turn;  // A B, B A, …
                Side& side = *lanes_[i].side;
                side.use(side.counts(lanes_[i].threads_of(cell)));
                const BenchRound result =
                    measure_round(engines[i], cell.shape, side.model().info().vocab_size, side.chunk_tokens(),
                                  round, drives);
                if (round == 0) continue;  // warm-up
                if (result.prefill_per_second) prefill[i].push_back(*result.prefill_per_second);
                if (result.decode_per_second) decode[i].push_back(*result.decode_per_second);
            }
        }
        const std::string id = fmt::format("{:x}-{:x}", lanes_[0].side->runtime().now_ns(), ::getpid());
        for (Wanted& want : wanted) {
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                const std::vector<double>& rates = want.test == BenchTest::prefill ? prefill[i] : decode[i];
                if (rates.empty()) throw Failure("The clock didn't move during a test.");
                finish(lanes_[i], cell, want.test, rates, lanes_.size() > 1 ? id : "", want.lines[i]);
            }
        }
    }

    void finish(Lane& lane, const Cell& cell, BenchTest test, const std::vector<double>& rates,
                const std::string& turn_about, Json& line) {
        line["tokens_per_second"] = rates;
        line["median"] = median(rates);
        if (!turn_about.empty()) line["turn_about"] = turn_about;
        if (options_.roofline) {
            const Side& side = *lane.side;
            const CommonOptions& common = side.options().common;
            if (!limits_) limits_ = measure_limits(side.model(), common, cell.shape);
            line.update(roofline_json(token_cost(side.model(), common, cell.shape, test, side.chunk_tokens()),
                                      *limits_, median(rates)));
        }
        if (lane.file && lane.file->find(line) == nullptr) lane.file->append(line);
        lane.results.push_back(line);
    }

    void print(const Wanted& want) {
        std::array<const Json*, 2> results{};
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            results[i] = lanes_[i].find(want.lines[i]);
            printer_.result(*results[i], lanes_[i].versus);
        }
        if (lanes_.size() > 1)
            printer_.comparison(
                comparison_json(*results[0], *results[1], options_.confidence, options_.least_percent));
    }

    // Where the time of one step of each test goes.
    void print_ops(const Cell& cell) {
        Side& side = *lanes_.front().side;
        const ThreadCounts counts = side.counts(cell.threads);
        side.use(counts);
        for (const BenchTest test : kTests) {
            if (tokens_of(cell.shape, test) == 0) continue;
            Json profile = profile_ops(side.model(), side.options().common, cell.shape, test,
                                       side.chunk_tokens(), options_.repetitions);
            if (!options_.side.common.json) {
                write_stdout(ops_text(profile, test));
                continue;
            }
            Json json;
            json["test"] = std::string(name_of(test)) + " ops";
            json.update(profile);
            json.update(side.conditions(cell.shape, test, counts));
            write_stdout(json_line(json));
        }
    }

    void plot() const {
        std::vector<PlotSide> sides;
        for (const Lane& lane : lanes_)
            sides.push_back({lane.versus.empty() ? "" : "with " + lane.versus, lane.results});
        write_rate_plot(options_.plot, sides);
    }

    const BenchOptions& options_;
    RatePrinter printer_;
    std::vector<Lane> lanes_;
    std::optional<MachineLimits> limits_;
    std::size_t n_skipped_ = 0;
};

}  // namespace

int run_rates(const BenchOptions& options) {
    check_rates(options);
    return RateRun(options).run();
}

}  // namespace cli
