// Draws from a generator whose bits the standard fixes, without its distributions, whose results it doesn't.
#include "numbers/traffic.h"

#include <charconv>
#include <cmath>

namespace cli {
namespace {

double unit(std::mt19937_64& random) {
    return static_cast<double>(random() >> 11) * 0x1p-53;  // [0, 1)
}

// One number or two with a dash between them, from 1 on, the smaller first.
std::optional<TokenRange> parse_range(std::string_view text) {
    TokenRange range;
    const char* const end = text.data() + text.size();
    const auto low = std::from_chars(text.data(), end, range.low);
    if (low.ec != std::errc() || range.low == 0) return std::nullopt;
    range.high = range.low;
    if (low.ptr == end) return range;
    if (*low.ptr != '-') return std::nullopt;
    const auto high = std::from_chars(low.ptr + 1, end, range.high);
    if (high.ec != std::errc() || high.ptr != end || range.high < range.low) return std::nullopt;
    return range;
}

uint32_t draw(const TokenRange& range, std::mt19937_64& random) {
    const double width = static_cast<double>(range.high - range.low) + 1;
    return range.low + static_cast<uint32_t>(unit(random) * width);
}

}  // namespace

std::vector<double> poisson_arrivals(double per_second, uint64_t n_least, double least_seconds,
                                     uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> arrivals;
    double now = 0;
    for (;;) {
        now -= std::log1p(-unit(random)) / per_second;
        if (arrivals.size() >= n_least && now >= least_seconds) return arrivals;
        arrivals.push_back(now);
    }
}

std::optional<LengthMix> parse_length_mix(const std::string& text) {
    const std::size_t slash = text.find('/');
    const std::string_view all = text;
    const std::optional<TokenRange> prompt = parse_range(all.substr(0, slash));
    const std::optional<TokenRange> output =
        slash == std::string::npos ? prompt : parse_range(all.substr(slash + 1));
    if (!prompt || !output) return std::nullopt;
    if (slash == std::string::npos && prompt->low == prompt->high) return std::nullopt;
    return LengthMix{*prompt, *output};
}

Lengths draw(const LengthMix& mix, std::mt19937_64& random) {
    const uint32_t prompt = draw(mix.prompt, random);
    return {prompt, draw(mix.output, random)};
}

}  // namespace cli
