// A test's steps as takt_model_profile() counts and times them.
#include "bench/profile.h"

#include <algorithm>

#include <fmt/format.h>

#include "load.h"

namespace cli {
namespace {

takt_profile_options step_options(const CommonOptions& common, const BenchShape& shape, uint32_t rows,
                                  uint32_t position, bool output) {
    takt_profile_options options = TAKT_PROFILE_OPTIONS_INIT;
    options.backend = common.backend.empty() ? nullptr : common.backend.c_str();
    options.n_sequences = shape.sequences;
    options.n_rows = rows;
    options.first_position = position;
    options.n_output_rows = output ? 1 : 0;
    options.kv_type = engine_options(common).kv_type;
    return options;
}

Json profile(const takt::Model& model, const takt_profile_options& options) {
    return Json::parse(model.profile(options));
}

uint32_t middle_of_decode(const BenchShape& shape) {
    return shape.depth + shape.prompt_tokens + shape.decode_tokens / 2;
}

struct Sum {
    double bytes = 0, operations = 0;
    void add(const Json& step, double weight) {
        const auto number = [&](const char* key) { return step.at(key).get<double>(); };
        bytes += weight * (number("weight_bytes") + number("kv_bytes"));
        operations += weight * (number("product_operations") + number("attention_operations"));
    }
};

std::optional<double> number_or_none(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional<double>(json.get<double>());
}

Json or_null(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

std::optional<double> share(double per_second, const std::optional<double>& limit) {
    return limit && *limit > 0 ? std::optional<double>(per_second / *limit) : std::nullopt;
}

std::string percent(const std::optional<double>& value) {
    return value ? fmt::format("{:.0f} %", 100 * *value) : "unknown";
}

// "12.3 GB/s" of a value in units of 1e9.
std::string billions(const std::optional<double>& value, std::string_view unit) {
    return value ? fmt::format("{:.1f} {}", *value * 1e-9, unit) : "unknown";
}

std::string microseconds(const Json& ns) {
    return ns.is_null() ? "" : fmt::format("{:.1f}", ns.get<double>() * 1e-3);
}

}  // namespace

MachineLimits measure_limits(const takt::Model& model, const CommonOptions& common, const BenchShape& shape) {
    takt_profile_options options = step_options(common, shape, 1, middle_of_decode(shape), true);
    options.limits = 1;
    const Json limits = profile(model, options).at("limits");
    return {number_or_none(limits.at("read_bytes_per_second")),
            number_or_none(limits.at("int8_operations_per_second")),
            number_or_none(limits.at("float_operations_per_second"))};
}

TokenCost token_cost(const takt::Model& model, const CommonOptions& common, const BenchShape& shape,
                     BenchTest test, uint32_t chunk_tokens) {
    Sum sum;
    double tokens = shape.sequences;
    if (test == BenchTest::decode) {
        sum.add(profile(model, step_options(common, shape, 1, middle_of_decode(shape), true)), 1);
    } else {
        for (uint32_t done = 0; done < shape.prompt_tokens; done += chunk_tokens) {
            const uint32_t rows = std::min(chunk_tokens, shape.prompt_tokens - done);
            const bool last = done + rows == shape.prompt_tokens;
            sum.add(profile(model, step_options(common, shape, rows, shape.depth + done, last)), 1);
        }
        tokens *= shape.prompt_tokens;
    }
    return {sum.bytes / tokens, sum.operations / tokens};
}

Json roofline_json(const TokenCost& cost, const MachineLimits& limits, double tokens_per_second) {
    Json json;
    json["bytes_per_token"] = cost.bytes;
    json["operations_per_token"] = cost.operations;
    json["read_bytes_per_second"] = or_null(limits.read_bytes_per_second);
    json["int8_operations_per_second"] = or_null(limits.int8_operations_per_second);
    json["float_operations_per_second"] = or_null(limits.float_operations_per_second);
    json["share_of_read"] = or_null(share(cost.bytes * tokens_per_second, limits.read_bytes_per_second));
    json["share_of_int8"] =
        or_null(share(cost.operations * tokens_per_second, limits.int8_operations_per_second));
    return json;
}

std::string roofline_text(const Json& line) {
    const auto number = [&](const char* key) { return number_or_none(line.at(key)); };
    return fmt::format("         a token: {:.2f} MB, {} of {}; {:.2f} GOP, {} of {} int8\n",
                       line.at("bytes_per_token").get<double>() * 1e-6, percent(number("share_of_read")),
                       billions(number("read_bytes_per_second"), "GB/s"),
                       line.at("operations_per_token").get<double>() * 1e-9, percent(number("share_of_int8")),
                       billions(number("int8_operations_per_second"), "GOP/s"));
}

Json profile_ops(const takt::Model& model, const CommonOptions& common, const BenchShape& shape,
                 BenchTest test, uint32_t chunk_tokens, uint32_t repetitions) {
    const bool decode = test == BenchTest::decode;
    const uint32_t rows = decode ? 1 : std::min(chunk_tokens, shape.prompt_tokens);
    takt_profile_options options =
        step_options(common, shape, rows, decode ? middle_of_decode(shape) : shape.depth, true);
    options.repetitions = repetitions;
    options.limits = 1;
    return profile(model, options);
}

std::string ops_text(const Json& profile, BenchTest test) {
    const double all = profile.at("median_ns").get<double>();
    std::string text = fmt::format("{} step: {:.1f} us\n{:>10} {:>6} {:>5} {:>10} {:>12}  op\n",
                                   test == BenchTest::decode ? "decode" : "prefill", all * 1e-3, "us",
                                   "share", "count", "GOP/s", "oneDNN us");
    for (const Json& part : profile.at("parts")) {
        const double ns = part.at("median_ns").get<double>(),
                     operations = part.at("operations").get<double>();
        text += fmt::format("{:>10} {:>5.1f}% {:>5} {:>10} {:>12}  {}\n", microseconds(part.at("median_ns")),
                            100 * ns / all, part.at("count").get<uint32_t>(),
                            operations > 0 ? fmt::format("{:.1f}", operations / ns) : "",
                            microseconds(part.at("peer_int8_ns")), part.at("name").get<std::string>());
    }
    return text;
}

}  // namespace cli
