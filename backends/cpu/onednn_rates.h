// oneDNN's own products, as a measure for takt's.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/backend.h"
#include "base/thread_pool.h"

namespace takt::cpu {

enum class ProductType : uint8_t { u8_by_s8, float32 };

// Operations per second of x [n_rows][inputs] by weights [inputs][outputs], its rows shared by the pool's
// threads; empty in a build without oneDNN, or where oneDNN fails.
std::optional<double> onednn_rate(ThreadPool& pool, ProductType type, uint32_t n_rows, ProductShape product);

}  // namespace takt::cpu
