// Reads and packs a program's weights with every thread of a pool.
#pragma once

#include <cstddef>

#include "backend/backend.h"
#include "backend/weight_source.h"
#include "base/thread_pool.h"
#include "cpu/weight_layout.h"
#include "program/program.h"

namespace takt::cpu {

// Fills `block`, layout.total_bytes of zeros. Each thread reads a piece of the source into a window that
// stays in its cache and packs it from there, so that some threads read while others pack and the source is
// never resident. The bytes don't depend on the number of threads. `progress` is called on this thread alone,
// counts up to layout.source_bytes, and may end the load with `cancelled`; what it throws comes out of here.
// The first failed read ends the load. No thread is still at work on return.
Status load_weights(const Program& program, const WeightLayout& layout, const WeightSource& source,
                    ThreadPool& pool, const LoadProgress& progress, std::byte* block);

}  // namespace takt::cpu
