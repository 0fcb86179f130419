// Data sets are checked line by line before anything runs.
#include "bench/workload.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "bench/round.h"
#include "failure.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

// The number of a key, from 1 on.
std::optional<uint32_t> count_of(const Json& line, const char* key) {
    const auto value = line.find(key);
    if (value == line.end() || !value->is_number_unsigned()) return std::nullopt;
    const auto number = value->get<uint64_t>();
    const bool fits = number >= 1 && number <= std::numeric_limits<uint32_t>::max();
    return fits ? std::optional<uint32_t>(static_cast<uint32_t>(number)) : std::nullopt;
}

uint32_t positions(const Lengths& lengths) {
    const uint64_t sum = uint64_t{lengths.prompt_tokens} + lengths.output_tokens + 1;
    return static_cast<uint32_t>(std::min<uint64_t>(sum, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

Workload::Workload(const std::string& lengths, const takt::Model& model, uint64_t seed)
    : random_(seed), seed_(seed), vocab_size_(model.info().vocab_size) {
    if (const std::optional<LengthMix> mix = parse_length_mix(lengths)) {
        mix_ = *mix;
        context_tokens_ = positions({mix_.prompt.high, mix_.output.high});
    } else if (lengths.find_first_not_of("0123456789-/") == std::string::npos) {
        throw WrongUsage(fmt::format(
            "--lengths: {} is no P/N, P1-P2/N1-N2 or A-B of tokens from 1 on, the smaller first.", lengths));
    } else {
        read_file_of_lengths(lengths, model);
    }
}

void Workload::read_file_of_lengths(const std::string& path, const takt::Model& model) {
    const std::string text = read_file(path);
    const auto refuse = [&](std::size_t line, const char* why) {
        throw Failure(fmt::format("{}, line {}: {}.", path, line, why));
    };
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view bytes(text.data() + begin, end - begin);
        begin = end + 1;
        ++number;
        if (bytes.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const Json line = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
        if (!line.is_object()) refuse(number, "no JSON object");
        Entry entry;
        const std::optional<uint32_t> output = count_of(line, "output_tokens");
        if (!output) refuse(number, "\"output_tokens\" is no number from 1 on");
        if (const auto prompt = line.find("prompt"); prompt != line.end() && prompt->is_string()) {
            entry.prompt_ids = model.tokenize(prompt->get<std::string>());
            if (entry.prompt_ids.empty()) refuse(number, "\"prompt\" has no token");
            entry.lengths.prompt_tokens = static_cast<uint32_t>(entry.prompt_ids.size());
        } else if (const std::optional<uint32_t> tokens = count_of(line, "prompt_tokens")) {
            entry.lengths.prompt_tokens = *tokens;
        } else {
            refuse(number, "there is neither a text \"prompt\" nor a number \"prompt_tokens\" from 1 on");
        }
        entry.lengths.output_tokens = *output;
        context_tokens_ = std::max(context_tokens_, positions(entry.lengths));
        entries_.push_back(std::move(entry));
    }
    if (entries_.empty()) throw Failure(fmt::format("{} holds no request.", path));
}

takt::RequestOptions Workload::next() {
    takt::RequestOptions options;
    Lengths lengths;
    if (entries_.empty()) {
        lengths = draw(mix_, random_);
    } else {
        const Entry& entry = entries_[n_made_ % entries_.size()];
        lengths = entry.lengths;
        options.prompt_ids = entry.prompt_ids;
    }
    if (options.prompt_ids.empty())
        options.prompt_ids = made_up_ids(lengths.prompt_tokens, vocab_size_, seed_ * 1'000'003 + n_made_);
    options.max_tokens = lengths.output_tokens;
    options.ignore_eos = true;
    ++n_made_;
    return options;
}

}  // namespace cli
