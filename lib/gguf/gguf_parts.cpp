// Each part is a GGUF file with a tensor table of its own; only the first has the model's metadata.
#include "gguf/gguf_parts.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "gguf/gguf_keys.h"
#include "gguf/gguf_parser.h"

namespace takt {
namespace {

// takt's own, so that a hostile count opens no endless row of files.
constexpr uint64_t kMostParts = 1024;

std::string part_suffix(uint64_t part, uint64_t n_parts) {
    return fmt::format("-{:05}-of-{:05}.gguf", part + 1, n_parts);
}

Status invalid(std::string text) {
    return Status(StatusCode::file_invalid, std::move(text));
}

}  // namespace

Status GgufParts::open_rest() {
    const std::string name = file_.source().name();
    uint64_t n_parts = 1;
    TAKT_RETURN_IF_ERROR(read_count(n_parts).with_context(name));
    if (n_parts <= 1) return {};
    const Result<std::string> begin = stem(n_parts);
    if (!begin.ok()) return begin.status().with_context(name);
    for (uint32_t part = 1; part < n_parts; ++part)
        TAKT_RETURN_IF_ERROR(add_part(*begin + part_suffix(part, n_parts), part, n_parts));
    return check_tensors().with_context(name);
}

Status GgufParts::read_count(uint64_t& out_count) const {
    const Result<std::optional<uint64_t>> count = file_.get_uint(gguf_keys::kSplitCount);
    if (!count.ok()) return count.status();
    out_count = count->value_or(1);
    if (out_count <= kMostParts) return {};
    return invalid(
        fmt::format("{} is {}, more than takt's limit {}.", gguf_keys::kSplitCount, out_count, kMostParts));
}

Result<std::string> GgufParts::stem(uint64_t n_parts) const {
    const std::string path = file_.source().path();
    if (path.empty()) {
        return Status(
            StatusCode::file_unsupported,
            fmt::format("The model is split ({} is {}), and its other parts are found by the path of "
                        "the first; open it by its path.",
                        gguf_keys::kSplitCount, n_parts));
    }
    const std::string suffix = part_suffix(0, n_parts);
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
    return invalid(
        fmt::format("The model is split into {} parts ({}), so the name of the first ends with {}.", n_parts,
                    gguf_keys::kSplitCount, suffix));
}

Status GgufParts::add_part(const std::string& path, uint32_t part, uint64_t n_parts) {
    const std::string which = fmt::format("part {} of {} of a split model", part + 1, n_parts);
    Result<std::shared_ptr<const ByteSource>> source = open_file(path);
    if (!source.ok()) return source.status().with_context(which);
    Result<std::shared_ptr<GgufFile>> parsed = GgufParser(std::move(*source), part).parse();
    if (!parsed.ok()) return parsed.status().with_context(path);
    GgufFile& other = **parsed;
    const Result<std::optional<uint64_t>> count = other.get_uint(gguf_keys::kSplitCount);
    if (!count.ok()) return count.status().with_context(path);
    if (count->value_or(1) != n_parts) {
        return invalid(fmt::format("{}: {} is {}, the first part says {}.", path, gguf_keys::kSplitCount,
                                   count->value_or(1), n_parts));
    }
    for (GgufTensor& tensor : other.tensors_) {
        tensor.part = part;
        file_.tensors_.push_back(std::move(tensor));
    }
    file_.parts_.push_back(std::move(other.parts_.front()));
    file_.fingerprint_ = mix_hash(file_.fingerprint_, other.fingerprint_);
    return {};
}

// The number of tensors as the first part tells it, and each of them once.
Status GgufParts::check_tensors() {
    const std::vector<GgufTensor>& tensors = file_.tensors_;
    const Result<std::optional<uint64_t>> count = file_.get_uint(gguf_keys::kSplitTensors);
    if (!count.ok()) return count.status();
    if (*count && **count != tensors.size()) {
        return invalid(fmt::format("{} is {}, the {} parts hold {} tensors.", gguf_keys::kSplitTensors,
                                   **count, file_.parts_.size(), tensors.size()));
    }
    std::vector<uint32_t>& order = file_.tensor_order_;
    order.resize(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
    const auto twin = std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return tensors[a].name == tensors[b].name;
    });
    if (twin == order.end()) return {};
    return invalid(fmt::format("Tensor {} is a duplicate: in part {} and in part {}.", tensors[*twin].name,
                               std::min(tensors[twin[0]].part, tensors[twin[1]].part) + 1,
                               std::max(tensors[twin[0]].part, tensors[twin[1]].part) + 1));
}

}  // namespace takt
