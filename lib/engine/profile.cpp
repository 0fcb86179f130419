// One executable of its own, with pages of its own that hold zeros: what a step costs does not depend on what
// it computes.
#include "engine/profile.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "engine/engine_options.h"

namespace takt {
namespace {

constexpr uint32_t kPageTokens = 32, kMaxRows = 16384, kMaxSequences = 256, kMaxRepetitions = 1000;
// The shape whose rate of another library's product stands for the machine's.
constexpr uint32_t kLimitRows = 512;
constexpr ProductShape kLimitShape{8960, 1536};

Status check(const ProfileOptions& options, const Model& model) {
    TAKT_RETURN_IF_ERROR(check_range("n_sequences", options.n_sequences, 1, kMaxSequences));
    TAKT_RETURN_IF_ERROR(check_range("n_rows", options.n_rows, 1, kMaxRows));
    TAKT_RETURN_IF_ERROR(check_range("n_output_rows", options.n_output_rows, 0, options.n_rows));
    TAKT_RETURN_IF_ERROR(check_range("repetitions", options.repetitions, 0, kMaxRepetitions));
    const uint64_t end = uint64_t{options.first_position} + options.n_rows;
    if (end <= model.config().context_tokens) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("first_position {} and n_rows {} end at {}, the model was trained for {}.",
                              options.first_position, options.n_rows, end, model.config().context_tokens));
}

// A step batch with the storage behind its views.
struct OwnedBatch {
    OwnedBatch(const Program& program, const ProfileOptions& options, uint32_t pages_a_sequence) {
        const uint32_t n = options.n_sequences * options.n_rows;
        for (uint32_t i = 0; i < n; ++i) {
            tokens.push_back(static_cast<int32_t>(i * 7919u % program.vocab_size));
            const bool output = i % options.n_rows >= options.n_rows - options.n_output_rows;
            wanted.push_back(output ? OutputWanted::logits : OutputWanted::none);
        }
        pages.resize(options.n_sequences);
        tables.resize(options.n_sequences);
        for (uint32_t s = 0; s < options.n_sequences; ++s) {
            for (uint32_t i = 0; i < pages_a_sequence; ++i) pages[s].push_back(s * pages_a_sequence + i);
            for (const StateGroup& group : program.groups)
                tables[s].push_back(BlockTable(pages[s]).first(group.recurrent ? 1 : pages_a_sequence));
            sequences.push_back({s, s * options.n_rows, options.n_rows, options.first_position, tables[s]});
        }
    }
    StepBatch view() const { return {tokens, wanted, sequences}; }

    std::vector<int32_t> tokens;
    std::vector<OutputWanted> wanted;
    std::vector<std::vector<uint32_t>> pages;
    std::vector<std::vector<BlockTable>> tables;
    std::vector<BatchSequence> sequences;
};

CompileOptions compile_options(const Program& program, const ProfileOptions& options) {
    const uint32_t context = options.first_position + options.n_rows,
                   pages = (context + kPageTokens - 1) / kPageTokens;
    CompileOptions compile;
    compile.max_rows = options.n_sequences * options.n_rows;
    compile.max_output_rows = std::max(1u, options.n_sequences * options.n_output_rows);
    compile.max_sequences = options.n_sequences;
    compile.max_context_tokens = context;
    compile.page_tokens = kPageTokens;
    compile.kv_dtype = options.kv_dtype;
    compile.n_pages.assign(program.groups.size(), options.n_sequences * pages);
    return compile;
}

uint64_t median(std::vector<uint64_t> values) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
}

// Parts of one name, in the order of their first; times of a step summed, then the median over steps.
class PartTimes {
public:
    void add(const std::vector<PartTime>& step) {
        std::map<std::string, uint64_t> sums;
        uint64_t all = 0;
        for (const PartTime& part : step) {
            sums[part.name] += part.ns;
            all += part.ns;
        }
        if (order_.empty()) {
            for (const PartTime& part : step) {
                Entry& entry = entries_[part.name];
                if (entry.count++ == 0) {
                    order_.push_back(part.name);
                    entry.n_rows = part.n_rows;
                    entry.products = part.products;
                }
            }
        }
        for (const auto& [name, ns] : sums) entries_[name].ns.push_back(ns);
        totals_.push_back(all);
    }
    uint64_t median_total() const { return median(totals_); }

    std::vector<ProfilePart> parts(Backend& backend, bool limits) {
        std::vector<ProfilePart> parts;
        for (const std::string& name : order_) {
            const Entry& entry = entries_[name];
            ProfilePart part{name, entry.count, median(entry.ns), 0, {}, {}};
            for (const ProductShape& product : entry.products) {
                part.operations +=
                    uint64_t{2} * entry.n_rows * product.outputs * product.inputs * entry.count;
            }
            if (limits && !entry.products.empty()) compare(backend, entry, part);
            parts.push_back(std::move(part));
        }
        return parts;
    }

private:
    struct Entry {
        uint32_t count = 0, n_rows = 0;
        std::vector<uint64_t> ns;  // a step
        std::vector<ProductShape> products;
    };

    static void compare(Backend& backend, const Entry& entry, ProfilePart& part) {
        double int8 = 0, floats = 0;
        for (const ProductShape& product : entry.products) {
            const Result<DeviceLimits> rates = backend.measure_limits(0, entry.n_rows, product);
            if (!rates.ok() || !rates->int8_operations_per_second || !rates->float_operations_per_second)
                return;
            const double operations = 2.0 * entry.n_rows * product.outputs * product.inputs * entry.count;
            int8 += operations / *rates->int8_operations_per_second;
            floats += operations / *rates->float_operations_per_second;
        }
        part.peer_int8_ns = int8 * 1e9;
        part.peer_float_ns = floats * 1e9;
    }

    std::map<std::string, Entry> entries_;
    std::vector<std::string> order_;
    std::vector<uint64_t> totals_;
};

Status run_parts(Runtime& runtime, Backend& backend, const Model& model, const ProfileOptions& options,
                 std::shared_ptr<const PackedWeights> weights, Profile& profile) {
    const CompileOptions compile = compile_options(*model.program(), options);
    Result<std::unique_ptr<Executable>> executable =
        backend.compile(model.program(), std::move(weights), compile);
    if (!executable.ok()) return executable.status();
    const OwnedBatch batch(*model.program(), options, compile.n_pages.front() / options.n_sequences);
    PartTimes times;
    for (uint32_t i = 0; i <= options.repetitions; ++i) {
        const Runtime::StepTurn turn(runtime, batch.tokens.size());
        const Result<std::vector<PartTime>> parts = (*executable)->run_timed(batch.view());
        if (!parts.ok()) return parts.status();
        if (i > 0) times.add(*parts);  // the first run warms caches and pages
    }
    profile.median_ns = times.median_total();
    const std::lock_guard turn(runtime.pool_mutex());
    profile.parts = times.parts(backend, options.limits);
    return {};
}

// Rows of several sequences share the weights, not the keys and values.
void count(const Program& program, const ProfileOptions& options, const PackedWeights* weights,
           Profile& profile) {
    const StepShape shape{options.n_rows, options.first_position, options.n_output_rows};
    const auto bytes_of = [&](WeightId id) {
        const std::optional<uint64_t> packed = weights ? weights->bytes_of(id) : std::nullopt;
        return packed.value_or(file_bytes(program.weight(id)));
    };
    profile.cost = step_cost(program, shape, bytes_of);
    profile.cost.kv_values *= options.n_sequences;
    profile.cost.recurrent_values *= options.n_sequences;
    profile.cost.product_operations *= options.n_sequences;
    profile.cost.attention_operations *= options.n_sequences;
    profile.kv_bytes = row_bytes(options.kv_dtype.value_or(DType::f16), profile.cost.kv_values) +
                       profile.cost.recurrent_values * sizeof(float);
}

}  // namespace

Result<Profile> profile_step(Runtime& runtime, const Model& model, const ProfileOptions& options) {
    TAKT_RETURN_IF_ERROR(check(options, model));
    const Result<Backend*> backend = runtime.find_backend(options.backend);
    if (!backend.ok()) return backend.status();
    const Program& program = *model.program();
    TAKT_RETURN_IF_ERROR((*backend)->supports(program));
    Profile profile;
    profile.n_threads = runtime.pool().n_threads();
    profile.backend = (*backend)->name();
    std::shared_ptr<const PackedWeights> weights;
    {
        const std::lock_guard turn(runtime.pool_mutex());
        auto loaded = (*backend)->load_weights(program, model, runtime.weight_store(), {});
        if (!loaded.ok()) return loaded.status();
        weights = std::move(*loaded);
    }
    count(program, options, weights.get(), profile);
    if (options.repetitions > 0)
        TAKT_RETURN_IF_ERROR(run_parts(runtime, **backend, model, options, weights, profile));
    if (options.limits) {
        const std::lock_guard turn(runtime.pool_mutex());
        Result<DeviceLimits> limits =
            (*backend)->measure_limits(profile.cost.weight_bytes + profile.kv_bytes, kLimitRows, kLimitShape);
        if (!limits.ok()) return limits.status();
        profile.limits = *limits;
        runtime.remember_limits(profile.backend, *limits);
    }
    return profile;
}

}  // namespace takt
