// Promises of the engine as its users see them: named scenarios, each ratio measured turn about in one run.
// Prints a JSON object a row; tests/promises/engine.py judges.
//   engine_bench SCENARIO MODEL.gguf [DRAFT_MODEL.gguf]
#include <cstdio>
#include <cstring>
#include <exception>

#include "engine/scenarios.h"

namespace {

struct Scenario {
    const char* name;
    void (*run)(const bench::Stack&);
};

constexpr Scenario kScenarios[] = {
    {"mixed_load", bench::mixed_load},         {"joining_prompt", bench::joining_prompt},
    {"second_turn", bench::second_turn},       {"shared_prompt", bench::shared_prompt},
    {"draft_model", bench::draft_model},       {"ngram_rewrite", bench::ngram_rewrite},
    {"useless_drafts", bench::useless_drafts},
};

int usage() {
    std::fprintf(stderr, "usage: engine_bench SCENARIO MODEL.gguf [DRAFT_MODEL.gguf]\nscenarios:");
    for (const Scenario& scenario : kScenarios) std::fprintf(stderr, " %s", scenario.name);
    std::fprintf(stderr, "\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return usage();
    for (const Scenario& scenario : kScenarios) {
        if (std::strcmp(scenario.name, argv[1]) != 0) continue;
        try {
            scenario.run(bench::Stack({argv + 2, argv + argc}));
            return 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "engine_bench: %s: %s\n", scenario.name, error.what());
            return 1;
        }
    }
    return usage();
}
