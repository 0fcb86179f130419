// The backends that every conformance test runs, the CPU one once for each instruction set this machine has.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

#include "create/create.h"

namespace takt::test {

struct TestedBackend {
    std::string label;                 // "cpu avx2"
    std::unique_ptr<ThreadPool> pool;  // outlives the backend
    std::unique_ptr<Backend> backend;
};

using CreateBackend = Result<std::unique_ptr<Backend>> (*)(const BackendContext&);

inline TestedBackend make_tested(std::string label, CreateBackend create, const std::string& isa_cap = "") {
    TestedBackend tested{std::move(label), std::make_unique<ThreadPool>(2), nullptr};
    Result<std::unique_ptr<Backend>> backend = create({tested.pool.get(), nullptr, isa_cap});
    INFO(tested.label << ": " << backend.status().message());
    REQUIRE(backend.ok());
    tested.backend = std::move(*backend);
    return tested;
}

inline std::vector<TestedBackend> backends_under_test() {
    std::vector<TestedBackend> all;
    all.push_back(make_tested("reference", create_reference_backend));
#if __has_include("cpu/cpu_backend.h")
    const std::vector<std::string> levels =
        make_tested("cpu", create_cpu_backend).backend->device_info().isa_levels;
    for (const std::string& level : levels)
        all.push_back(make_tested("cpu " + level, create_cpu_backend, level));
#endif
    return all;
}

}  // namespace takt::test
