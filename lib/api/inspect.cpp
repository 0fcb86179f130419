// Long arrays (a vocabulary has 50,000 texts) are summed up by their type, their count and their first items.
#include "api/inspect.h"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "program/op.h"
#include "tensor/dtype.h"

namespace takt::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kWholeArray = 16;  // longer arrays are summed up
constexpr size_t kFirstItems = 8;
constexpr int kMaxNesting = 4;  // arrays of arrays are shown this deep

Json array_json(const GgufArray& array, int depth);

template <typename T>
void push_first(Json& items, const std::vector<T>& values, size_t count) {
    for (size_t i = 0; i < std::min(values.size(), count); ++i) items.push_back(values[i]);
}

Json first_items(const GgufArray& array, size_t count, int depth) {
    Json items = Json::array();
    push_first(items, array.unsigneds, count);
    push_first(items, array.signeds, count);
    push_first(items, array.floats, count);
    push_first(items, array.strings, count);
    for (size_t i = 0; i < std::min(array.booleans.size(), count); ++i)
        items.push_back(array.booleans[i] != 0);
    if (depth < kMaxNesting) {
        for (size_t i = 0; i < std::min(array.arrays.size(), count); ++i)
            items.push_back(array_json(*array.arrays[i], depth + 1));
    }
    return items;
}

Json array_json(const GgufArray& array, int depth) {
    if (array.size() <= kWholeArray) return first_items(array, kWholeArray, depth);
    Json summary;
    summary["element_type"] = gguf_type_name(array.element_type);
    summary["count"] = array.size();
    summary["first"] = first_items(array, kFirstItems, depth);
    return summary;
}

Json value_json(const GgufValue& value) {
    return std::visit(
        [](const auto& held) -> Json {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::shared_ptr<const GgufArray>>) {
                return held ? array_json(*held, 0) : Json(nullptr);
            } else {
                return Json(held);
            }
        },
        value);
}

Json metadata_json(const GgufFile& file) {
    Json metadata = Json::object();
    for (const GgufEntry& entry : file.entries()) {
        metadata[entry.key] = Json{{"type", gguf_type_name(entry.type)}, {"value", value_json(entry.value)}};
    }
    return metadata;
}

Json tensors_json(const GgufFile& file) {
    Json tensors = Json::array();
    for (const GgufTensor& tensor : file.tensors()) {
        Json shape = Json::array();
        for (uint32_t i = 0; i < tensor.n_dims; ++i) shape.push_back(tensor.dims[i]);
        tensors.push_back({{"name", tensor.name},
                           {"type", dtype_info(tensor.dtype).name},
                           {"shape", std::move(shape)},
                           {"bytes", tensor.size_bytes},
                           {"offset", tensor.offset}});
    }
    return tensors;
}

Json config_json(const ModelConfig& config) {
    return {{"family", config.family},
            {"name", config.model_name},
            {"vocab_size", config.vocab_size},
            {"context_tokens", config.context_tokens},
            {"n_layers", config.n_layers},
            {"embedding_dim", config.embedding_dim},
            {"ffn_dim", config.ffn_dim},
            {"n_heads", config.n_heads},
            {"n_kv_heads", config.n_kv_heads},
            {"key_dim", config.key_dim},
            {"value_dim", config.value_dim},
            {"rms_epsilon", config.rms_epsilon},
            {"rope_rotated_dim", config.rope_rotated_dim},
            {"rope_base", config.rope_base},
            {"window_tokens", config.window_tokens}};
}

Json tokenizer_json(const Model& model) {
    const Tokenizer& tokenizer = *model.tokenizer();
    const Result<std::shared_ptr<const ChatTemplate>> chat_template = model.chat_template();
    return {{"bos_id", tokenizer.bos_id()},
            {"eos_id", tokenizer.eos_id()},
            {"adds_bos", tokenizer.adds_bos()},
            {"adds_eos", tokenizer.adds_eos()},
            {"end_of_generation_ids", tokenizer.end_of_generation_ids()},
            {"chat_template", chat_template.ok() ? "usable" : chat_template.status().message()}};
}

Json program_json(const Program& program) {
    std::map<std::string, uint64_t, std::less<>> counts;
    for (const Op& op : program.ops) ++counts[std::string(op_name(op))];
    Json groups = Json::array();
    for (size_t g = 0; g < program.groups.size(); ++g) {
        const auto in_group = [g](const KvStateDecl& state) { return state.group == g; };
        groups.push_back(
            {{"name", program.groups[g].name},
             {"window", program.groups[g].window},
             {"n_states", std::count_if(program.states.begin(), program.states.end(), in_group)}});
    }
    return {{"n_ops", program.ops.size()}, {"ops", counts}, {"state_groups", std::move(groups)}};
}

}  // namespace

std::string inspect_json(const Model& model, std::string_view backend, uint64_t packed_bytes) {
    const GgufFile& file = model.file();
    Json object;
    object["file"] = {{"name", file.source().name()},
                      {"bytes", file.source().size_bytes()},
                      {"gguf_version", file.version()},
                      {"fingerprint", fmt::format("{:016x}", file.fingerprint())}};
    object["config"] = config_json(model.config());
    object["tokenizer"] = tokenizer_json(model);
    object["program"] = program_json(*model.program());
    object["weights"] = {{"parameters", parameter_count(model)},
                         {"bytes", model.weight_bytes()},
                         {"backend", backend},
                         {"packed_bytes", packed_bytes}};
    object["metadata"] = metadata_json(file);
    object["tensors"] = tensors_json(file);
    return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

uint64_t parameter_count(const Model& model) {
    uint64_t count = 0;
    for (const WeightDecl& weight : model.program()->weights)
        count += static_cast<uint64_t>(weight.rows) * weight.columns;
    return count;
}

}  // namespace takt::api
