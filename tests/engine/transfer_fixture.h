// States in memory, on their way between engines.
#pragma once

#include <cstring>

#include "engine_fixture.h"

namespace takt::test {

using Bytes = std::vector<std::byte>;

inline RequestOptions sampled(RequestOptions options, bool keep) {
    options.ignore_eos = true;
    options.keep_state = keep;
    options.sampler.temperature = 1;
    options.sampler.seed = 5;
    options.sampler.repetition_penalty = 1.2f;
    return options;
}

inline WriteBytes to(Bytes& out) {
    return [&out](std::span<const std::byte> bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
        return true;
    };
}

class From {
public:
    explicit From(const Bytes& bytes) : bytes_(bytes) {}
    bool operator()(std::span<std::byte> out) {
        if (bytes_.size() - at_ < out.size()) return false;
        std::memcpy(out.data(), bytes_.data() + at_, out.size());
        at_ += out.size();
        return true;
    }

private:
    const Bytes& bytes_;
    size_t at_ = 0;
};

inline Bytes exported(Engine& engine, const RequestOptions& options) {
    auto request = engine.submit(options);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    Bytes bytes;
    Transfer transfer;
    const Status status = engine.export_state(**request, to(bytes), transfer);
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(transfer.bytes == bytes.size());
    return bytes;
}

struct Imported {
    Status status;
    Heard heard;
    Transfer transfer;
    TimingSummary timing;
    std::vector<int32_t> began_with;
};

inline Imported imported(Engine& engine, const Bytes& bytes, RequestOptions options) {
    Imported result;
    options.on_event = [&](const Event& event) { return result.heard.hear(event); };
    auto request = engine.import_state(From(bytes), std::move(options), result.transfer);
    result.status = request.status();
    if (!request.ok()) return result;
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    result.timing = (*request)->timing();
    const auto ids = (*request)->prompt_ids();
    result.began_with.assign(ids.begin(), ids.end());
    return result;
}

}  // namespace takt::test
