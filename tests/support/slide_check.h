// What a request whose context slides must give, from what slides never had a part in: evaluations of plain
// ids and the sampler by itself.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "engine/engine.h"

namespace takt::test {

// The context after a slide, by the words of the option: the pinned start and the newest half of the rest.
inline std::vector<int32_t> slid(const std::vector<int32_t>& full, size_t n_pinned) {
    std::vector<int32_t> kept(full.begin(), full.begin() + static_cast<ptrdiff_t>(n_pinned));
    const size_t n_newest = (full.size() - n_pinned) / 2;
    kept.insert(kept.end(), full.end() - static_cast<ptrdiff_t>(n_newest), full.end());
    return kept;
}

// Holds the generated ids of the request against logits of each context as it must have been, in a fresh
// engine. Returns how often the context slid.
inline uint32_t check_slides(Engine& fresh, const RequestOptions& request,
                             const std::vector<int32_t>& generated, size_t context_tokens,
                             uint32_t vocab_size) {
    const SamplerChain sampler(request.sampler, vocab_size);
    SamplerScratch scratch(vocab_size);
    std::vector<int32_t> context = request.prompt_ids;
    size_t n_done = 0;
    uint32_t n_slides = 0;
    while (true) {
        // As many as fill this context.
        const size_t n = std::min(context_tokens - context.size(), generated.size() - n_done);
        const size_t n_before = context.size();
        context.insert(context.end(), generated.begin() + static_cast<ptrdiff_t>(n_done),
                       generated.begin() + static_cast<ptrdiff_t>(n_done + n));
        const std::vector<int32_t> computed(context.begin(), context.end() - 1);
        std::vector<int32_t> expected;
        const Status status =
            fresh.evaluate(computed, n_before - 1, 0, [&](size_t position, std::span<const float> logits) {
                const auto history = std::span<const int32_t>(context).first(position + 1);
                const uint64_t number = request.prompt_ids.size() + n_done + expected.size();
                expected.push_back(sampler.sample(logits, history, number, scratch).value());
                return true;
            });
        INFO(status.message());
        REQUIRE(status.ok());
        const std::vector<int32_t> got(context.begin() + static_cast<ptrdiff_t>(n_before), context.end());
        INFO("after " << n_slides << " slides");
        CHECK(got == expected);
        n_done += n;
        if (n_done == generated.size()) return n_slides;
        context = slid(context, request.pinned_tokens);
        ++n_slides;
    }
}

}  // namespace takt::test
