// The border every device stands behind: a backend loads weights, compiles a program, and the executable runs
// step batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/step_batch.h"
#include "backend/weight_source.h"
#include "backend/weight_store.h"
#include "base/log.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "program/program.h"

namespace takt {

struct StateRange;      // backend/state_form.h
struct RecurrentRange;  // the same

// Bytes of weights done and in all; false asks to stop, which ends the load with `cancelled`.
using LoadProgress = std::function<bool(uint64_t done_bytes, uint64_t total_bytes)>;

struct LoadOptions {
    LoadProgress progress;
    // "" or the folder where a backend may keep packed weights of models read from files. Only ever saves
    // time: whatever is wrong with it is logged, and the load goes on without.
    std::string packed_cache_dir;
};

struct DeviceInfo {
    std::string name;                     // "AMD EPYC 9B45"
    std::string isa;                      // level in use, "avx512_vnni"; empty where it means nothing
    std::vector<std::string> isa_levels;  // every level this machine can run, best first
    uint64_t memory_bytes = 0;            // total, 0 if unknown
};

struct CompileOptions {
    uint32_t max_rows = 512;        // rows of one step
    uint32_t max_output_rows = 64;  // rows of one step with something wanted
    uint32_t max_sequences = 64;
    uint32_t max_context_tokens = 4096;
    uint32_t page_tokens = 32;      // positions per page, every group
    std::vector<uint32_t> n_pages;  // per state group of the program; of a recurrent one its slots
    // Of keys and values: f32, f16 or q8_0 (one scale for 32 dimensions). Unset: what the backend takes for
    // best.
    std::optional<DType> kv_dtype;
    bool deterministic = false;  // no path whose row depends on its neighbours
};

struct MemoryPlan {
    uint64_t weight_bytes = 0, state_bytes = 0, scratch_bytes = 0;
    uint64_t total_bytes() const { return weight_bytes + state_bytes + scratch_bytes; }
    MemoryPlan& operator+=(const MemoryPlan& other) {
        weight_bytes += other.weight_bytes;
        state_bytes += other.state_bytes;
        scratch_bytes += other.scratch_bytes;
        return *this;
    }
};

struct ProductShape {
    uint32_t outputs = 0, inputs = 0;
    auto operator<=>(const ProductShape&) const = default;
};

// What one part of a step took. Parts that differ in their layer alone have the same name.
struct PartTime {
    std::string name;
    uint64_t ns = 0;
    uint32_t n_rows = 0;
    std::vector<ProductShape> products;
};

// What the device reaches now, by the backend's threads together; empty where it can't be told.
struct DeviceLimits {
    std::optional<double> read_bytes_per_second;        // a working set, over and over
    std::optional<double> int8_operations_per_second;   // another library's u8 x s8 product
    std::optional<double> float_operations_per_second;  // its float32 product
};

// What multiplies weights of one type: {"q4_k", "avx512_vnni"}.
struct KernelChoice {
    std::string what, kernel;
};

// What weights of a type are kept and multiplied as: {"q8_0", "rounded"}. "exact": every element is the
// file's.
struct WeightForm {
    std::string_view runs_as, precision;
};

// Told before each product of a step, on the thread that runs it: the weight, and n_rows rows of its columns
// that it is multiplied with, as the product sees them. Borrowed for the call.
using ProductObserver = std::function<void(WeightId weight, std::span<const float> rows, uint32_t n_rows)>;

// One engine's compiled program with its pages and scratch. One thread at a time.
class Executable {
public:
    virtual ~Executable() = default;
    // Rows are provisional until commit(). Allocates nothing. Errors leave committed state as it was.
    virtual Result<StepOutput> run(const StepBatch& batch) = 0;
    // run(), and what its parts took. Allocates; without parts of its own a backend gives the step as one.
    virtual Result<std::vector<PartTime>> run_timed(const StepBatch& batch) {
        const Result<StepOutput> output = run(batch);
        if (!output.ok()) return output.status();
        return std::vector<PartTime>{{"step", output->compute_ns, 0, {}}};
    }
    // Keeps the first rows_kept rows of the sequence's last run. For pages this is a length, which the engine
    // holds itself. A slot of recurrent state changes only here, to the state behind the last kept row; then
    // at most kMaxUndoneRows may be left out.
    virtual Status commit(uint64_t sequence, uint32_t rows_kept) = 0;
    // Copies one page of a group, or one slot, for forks (copy-on-write).
    virtual Status copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) = 0;
    // For calibration: slows steps down, and may allocate in them. An empty one ends it.
    virtual Status observe_products(ProductObserver /*observer*/) {
        return Status(StatusCode::unsupported, "This backend can't tell what it multiplies.");
    }
    // Type of the keys and values in the pages; nothing where they can't leave the device.
    virtual std::optional<DType> kv_dtype() const { return std::nullopt; }
    // Keys and values of a range of positions of one layer, in the form of backend/state_form.h, out of the
    // pages and into them. Whoever calls sees to it that what is read was committed. Bits stay as they are.
    virtual Status read_state(const StateRange& /*range*/, std::span<std::byte> /*out*/) {
        return Status(StatusCode::unsupported, "This backend can't give keys and values out.");
    }
    virtual Status write_state(const StateRange& /*range*/, std::span<const std::byte> /*in*/) {
        return Status(StatusCode::unsupported, "This backend can't take keys and values in.");
    }
    // The same for a part of one recurrent state.
    virtual Status read_recurrent(const RecurrentRange& /*range*/, std::span<std::byte> /*out*/) {
        return Status(StatusCode::unsupported, "This backend can't give recurrent state out.");
    }
    virtual Status write_recurrent(const RecurrentRange& /*range*/, std::span<const std::byte> /*in*/) {
        return Status(StatusCode::unsupported, "This backend can't take recurrent state in.");
    }
    // What it holds, counted over its buffers: what the backend's plan() said.
    virtual MemoryPlan memory() const = 0;
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    virtual const DeviceInfo& device_info() const = 0;
    // Names op and dtype of the first thing it can't run.
    virtual Status supports(const Program& program) const = 0;
    // Reads and packs every weight of the program, or shares what the store already holds.
    virtual Result<std::shared_ptr<const PackedWeights>> load_weights(const Program& program,
                                                                      const WeightSource& source,
                                                                      WeightStore& store,
                                                                      const LoadOptions& options) = 0;
    virtual Result<MemoryPlan> plan(const Program& program, const CompileOptions& options) const = 0;
    virtual Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Program> program,
                                                        std::shared_ptr<const PackedWeights> weights,
                                                        const CompileOptions& options) = 0;
    // By type of the program's matrices; nothing where there is no choice.
    virtual std::vector<KernelChoice> choices(const Program& /*program*/) const { return {}; }
    // Of a type that it supports.
    virtual WeightForm weight_form(DType /*dtype*/) const { return {"f32", "exact"}; }
    // Takes about a second: reads of a working set of this size, products of n_rows rows in this shape;
    // neither where 0.
    virtual Result<DeviceLimits> measure_limits(uint64_t /*working_set_bytes*/, uint32_t /*n_rows*/,
                                                ProductShape /*product*/) {
        return DeviceLimits{};
    }
};

// What a backend is made with; pool and logger outlive it (the runtime owns all three).
struct BackendContext {
    ThreadPool* pool = nullptr;
    const Logger* logger = nullptr;
    std::string isa_cap;  // "" or a level name; unknown names are refused by the backend
};

}  // namespace takt
