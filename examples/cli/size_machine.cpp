// takt size roofline, machine: what bandwidth and operations allow, and what a wanted rate asks for.
#include <memory>

#include <fmt/format.h>

#include "failure.h"
#include "load.h"
#include "numbers/roofline.h"
#include "size.h"

namespace cli {
namespace {

struct KnownMachine {
    std::string name;
    double bytes_per_second = 0, operations_per_second = 0;
};

// NVIDIA's figures, dense 16-bit operations.
const KnownMachine kH100{"H100 SXM", 3.35e12, 989.4e12};

struct MachineOptions {
    CommonOptions common;
    std::optional<double> parameters, weight_bytes, kv_bytes, gigabytes, teraops, prompt_tokens;
    double bytes_per_parameter = 2, batch = 1, rate = 0, share = 1;
    std::optional<double> prefill_rate;
    uint32_t depth = 1024;
    std::vector<std::string> machines;
};

int roofline(const MachineOptions& options) {
    SizeAnswer answer;
    const bool has_model = options.parameters.has_value(), has_bandwidth = options.gigabytes.has_value();
    if (!has_model && !has_bandwidth && !options.prompt_tokens)
        throw WrongUsage("roofline needs --params, --bandwidth or --prompt.");
    if (has_model) {
        const double weights = weight_read_bytes(*options.parameters, options.bytes_per_parameter);
        answer.add("weight_read_bytes", weights, "read for each decode step");
        if (has_bandwidth) {
            const DecodeLoad load{weights, options.kv_bytes.value_or(0), options.batch};
            answer.add("decode_tokens_per_second_at_most", decode_bound(load, *options.gigabytes * 1e9),
                       "all sequences of the batch together");
        }
    }
    if (has_bandwidth && options.teraops)
        answer.add("ridge_operations_per_byte",
                   ridge_point(*options.teraops * 1e12, *options.gigabytes * 1e9),
                   "below it bandwidth is the limit, above it operations");
    if (options.prompt_tokens) {
        answer.add("prefill_operations_per_byte",
                   prefill_intensity(*options.prompt_tokens, options.bytes_per_parameter),
                   "of weights, the prompt in one step");
        answer.add("attention_scores", attention_scores(*options.prompt_tokens), "of a head in a layer");
    }
    answer.print(options.common.json);
    return 0;
}

// Keys and values of one sequence at a depth: what an engine for it alone plans.
double kv_bytes_at(const takt::Model& model, const MachineOptions& options) {
    takt::EngineOptions settings = engine_options(options.common);
    settings.context_tokens = options.depth;
    settings.kv_tokens = options.depth;
    settings.chunk_tokens = 1;
    return static_cast<double>(model.plan(settings).kv_bytes);
}

struct Model {
    double parameters = 0;
    DecodeLoad load;
};

Model read_model(const MachineOptions& options) {
    if (options.common.model.empty()) {
        if (!options.parameters) throw WrongUsage("machine needs -m or --params.");
        const double weights = options.weight_bytes.value_or(
            weight_read_bytes(*options.parameters, options.bytes_per_parameter));
        return {*options.parameters, {weights, options.kv_bytes.value_or(0), options.batch}};
    }
    if (options.parameters || options.weight_bytes)
        throw WrongUsage("machine takes either -m or --params and --weight-bytes.");
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    const takt_model_info info = model.info();
    const double kv = options.kv_bytes ? *options.kv_bytes : kv_bytes_at(model, options);
    return {static_cast<double>(info.parameter_count),
            {static_cast<double>(info.weight_bytes), kv, options.batch}};
}

KnownMachine parse_machine(const std::string& text) {
    const auto wrong = [&] {
        return WrongUsage(
            fmt::format("--machine: \"{}\" is no NAME:GIGABYTES_PER_SECOND or NAME:GB/S:TERAOPERATIONS.",
                        text.substr(0, 60)));
    };
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(':', at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) throw wrong();
    const CLI::Validator check = amount(Least::above_zero, kMostAmount);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (!check(parts[i]).empty()) throw wrong();
    }
    return {parts[0], std::stod(parts[1]) * 1e9, parts.size() == 3 ? std::stod(parts[2]) * 1e12 : 0};
}

std::string verdict(const KnownMachine& machine, double bandwidth, const std::optional<double>& operations) {
    if (machine.bytes_per_second < bandwidth) return "bandwidth too small";
    if (!operations) return "suffices";
    if (machine.operations_per_second == 0) return "bandwidth suffices; operations not given";
    return machine.operations_per_second < *operations ? "operations too few" : "suffices";
}

int machine(const MachineOptions& options) {
    std::vector<KnownMachine> machines;
    for (const std::string& text : options.machines) machines.push_back(parse_machine(text));
    machines.push_back(kH100);
    const Model model = read_model(options);
    const double bandwidth = bandwidth_for(model.load, options.rate) / options.share;
    std::optional<double> operations;
    if (options.prefill_rate)
        operations = operations_for(model.parameters, *options.prefill_rate) / options.share;
    SizeAnswer answer;
    answer.add("weight_bytes", model.load.weight_bytes, "read for each decode step")
        .add("kv_bytes", model.load.kv_bytes, "read for each sequence of it")
        .add("gigabytes_per_second", bandwidth / 1e9,
             fmt::format("for {:g} tokens per second, batch {:g}", options.rate, options.batch));
    if (operations)
        answer.add("teraoperations_per_second", *operations / 1e12,
                   fmt::format("for {:g} prompt tokens per second", *options.prefill_rate));
    for (const KnownMachine& known : machines)
        answer.add_text("machine " + known.name, verdict(known, bandwidth, operations),
                        fmt::format("{:g} GB/s{}", known.bytes_per_second / 1e9,
                                    known.operations_per_second > 0
                                        ? fmt::format(", {:g} TOP/s", known.operations_per_second / 1e12)
                                        : ""));
    answer.print(options.common.json);
    return 0;
}

void add_kv(CLI::App& app, MachineOptions& options) {
    add_amount(app, "--batch", options.batch, "Sequences that share a read of the weights")
        ->capture_default_str();
    add_amount(app, "--kv-bytes", options.kv_bytes, "Keys and values of one sequence", Least::zero);
}

}  // namespace

Command add_size_roofline(CLI::App& size) {
    auto options = std::make_shared<MachineOptions>();
    CLI::App* command = size.add_subcommand("roofline", "Bounds of a model on a machine");
    add_amount(*command, "--params", options->parameters, "Parameters of the model");
    add_amount(*command, "--bytes", options->bytes_per_parameter, "Bytes a parameter")->capture_default_str();
    add_amount(*command, "--bandwidth", options->gigabytes, "Gigabytes per second");
    add_amount(*command, "--teraops", options->teraops, "Tera (1e12) operations per second");
    add_amount(*command, "--prompt", options->prompt_tokens, "Prompt tokens");
    add_kv(*command, *options);
    command->add_flag("--json", options->common.json, "One JSON object");
    return {command, [options] { return roofline(*options); }};
}

Command add_size_machine(CLI::App& size) {
    auto options = std::make_shared<MachineOptions>();
    CLI::App* command =
        size.add_subcommand("machine", "Bandwidth and operations that a wanted rate asks for");
    add_common(*command, options->common, NeedsModel::no);
    add_amount(*command, "--params", options->parameters, "Parameters, without -m");
    add_amount(*command, "--bytes", options->bytes_per_parameter, "Bytes a parameter, without -m")
        ->capture_default_str();
    add_amount(*command, "--weight-bytes", options->weight_bytes, "Bytes of all weights, without -m");
    add_amount(*command, "--rate", options->rate, "Wanted decode tokens per second, all sequences together")
        ->required();
    add_amount(*command, "--prefill-rate", options->prefill_rate, "Wanted prompt tokens per second");
    add_number(*command, "--depth", options->depth, "Positions of a sequence, for its keys and values")
        ->capture_default_str();
    add_amount(*command, "--share", options->share, "Share of its figures that a machine reaches",
               Least::above_zero, 1)
        ->capture_default_str();
    command
        ->add_option("--machine", options->machines,
                     "NAME:GIGABYTES_PER_SECOND[:TERAOPERATIONS]; may be given again")
        ->expected(1)
        ->take_all();
    add_kv(*command, *options);
    return {command, [options] { return machine(*options); }};
}

}  // namespace cli
