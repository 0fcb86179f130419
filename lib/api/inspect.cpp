// Long arrays (a vocabulary has 50,000 texts) are summed up by their type, their count and their first items.
#include "api/inspect.h"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "base/json_writer.h"
#include "program/op.h"
#include "tensor/dtype.h"

namespace takt::api {
namespace {

constexpr size_t kWholeArray = 16;  // longer arrays are summed up
constexpr size_t kFirstItems = 8;
constexpr int kMaxNesting = 4;  // arrays of arrays are shown this deep

void write_array(JsonWriter& json, const GgufArray& array, int depth);

template <typename T>
void write_first(JsonWriter& json, const std::vector<T>& values, size_t count) {
    for (size_t i = 0; i < std::min(values.size(), count); ++i) json.value(values[i]);
}

void write_first_items(JsonWriter& json, const GgufArray& array, size_t count, int depth) {
    json.begin_array();
    write_first(json, array.unsigneds, count);
    write_first(json, array.signeds, count);
    write_first(json, array.floats, count);
    write_first(json, array.strings, count);
    for (size_t i = 0; i < std::min(array.booleans.size(), count); ++i) json.value(array.booleans[i] != 0);
    if (depth < kMaxNesting) {
        for (size_t i = 0; i < std::min(array.arrays.size(), count); ++i)
            write_array(json, *array.arrays[i], depth + 1);
    }
    json.end_array();
}

void write_array(JsonWriter& json, const GgufArray& array, int depth) {
    if (array.size() <= kWholeArray) return write_first_items(json, array, kWholeArray, depth);
    json.begin_object();
    json.member("element_type", gguf_type_name(array.element_type));
    json.member("count", array.size());
    json.key("first");
    write_first_items(json, array, kFirstItems, depth);
    json.end_object();
}

void write_value(JsonWriter& json, const GgufValue& value) {
    std::visit(
        [&](const auto& held) {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::shared_ptr<const GgufArray>>) {
                held ? write_array(json, *held, 0) : json.null();
            } else {
                json.value(held);
            }
        },
        value);
}

void write_metadata(JsonWriter& json, const GgufFile& file) {
    json.begin_object();
    for (const GgufEntry& entry : file.entries()) {
        json.key(entry.key);
        json.begin_object();
        json.member("type", gguf_type_name(entry.type));
        json.key("value");
        write_value(json, entry.value);
        json.end_object();
    }
    json.end_object();
}

void write_tensors(JsonWriter& json, const GgufFile& file) {
    json.begin_array();
    for (const GgufTensor& tensor : file.tensors()) {
        json.begin_object();
        json.member("name", tensor.name);
        json.member("type", dtype_info(tensor.dtype).name);
        json.key("shape");
        json.begin_array();
        for (uint32_t i = 0; i < tensor.n_dims; ++i) json.value(tensor.dims[i]);
        json.end_array();
        json.member("bytes", tensor.size_bytes);
        json.member("offset", tensor.offset);
        json.member("part", tensor.part);
        json.end_object();
    }
    json.end_array();
}

void write_file(JsonWriter& json, const GgufFile& file) {
    json.begin_object();
    json.member("name", file.source().name());
    json.member("bytes", file.size_bytes());
    json.member("parts", file.n_parts());
    json.member("gguf_version", file.version());
    json.member("fingerprint", fmt::format("{:016x}", file.fingerprint()));
    json.end_object();
}

void write_config(JsonWriter& json, const ModelConfig& config) {
    json.begin_object();
    json.member("family", config.family);
    json.member("name", config.model_name);
    json.member("vocab_size", config.vocab_size);
    json.member("context_tokens", config.context_tokens);
    json.member("n_layers", config.n_layers);
    json.member("embedding_dim", config.embedding_dim);
    json.member("ffn_dim", config.ffn_dim);
    json.member("n_heads", config.n_heads);
    json.member("n_kv_heads", config.n_kv_heads);
    json.member("key_dim", config.key_dim);
    json.member("value_dim", config.value_dim);
    json.member("norm_epsilon", config.norm_epsilon);
    json.member("rope_rotated_dim", config.rope_rotated_dim);
    json.member("rope_base", config.rope_base);
    json.member("window_tokens", config.window_tokens);
    json.member("n_experts", config.n_experts);
    json.member("n_experts_used", config.n_experts_used);
    json.end_object();
}

void write_tokenizer(JsonWriter& json, const Model& model) {
    const Tokenizer& tokenizer = *model.tokenizer();
    const Result<std::shared_ptr<const ChatTemplate>> chat_template = model.chat_template();
    json.begin_object();
    json.member("bos_id", tokenizer.bos_id());
    json.member("eos_id", tokenizer.eos_id());
    json.member("adds_bos", tokenizer.adds_bos());
    json.member("adds_eos", tokenizer.adds_eos());
    json.key("end_of_generation_ids");
    json.begin_array();
    for (const int32_t id : tokenizer.end_of_generation_ids()) json.value(id);
    json.end_array();
    json.member("chat_template", chat_template.ok() ? "usable" : chat_template.status().message());
    json.end_object();
}

void write_program(JsonWriter& json, const Program& program) {
    std::map<std::string_view, uint64_t> counts;
    for (const Op& op : program.ops) ++counts[op_name(op)];
    json.begin_object();
    json.member("n_ops", program.ops.size());
    json.key("ops");
    json.begin_object();
    for (const auto& [name, count] : counts) json.member(name, count);
    json.end_object();
    json.key("state_groups");
    json.begin_array();
    for (size_t g = 0; g < program.groups.size(); ++g) {
        const auto in_group = [g](const auto& state) { return state.group == g; };
        json.begin_object();
        json.member("name", program.groups[g].name);
        json.member("window", program.groups[g].window);
        json.member("recurrent", program.groups[g].recurrent);
        json.member("n_states", std::ranges::count_if(program.states, in_group) +
                                    std::ranges::count_if(program.recurrent_states, in_group));
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

void write_weights(JsonWriter& json, const Model& model, std::string_view backend, uint64_t packed_bytes) {
    json.begin_object();
    json.member("parameters", parameter_count(model));
    json.member("bytes", model.weight_bytes());
    json.member("backend", backend);
    json.member("packed_bytes", packed_bytes);
    json.end_object();
}

// By type: how much of the program's weights has it, and what the backend keeps it as.
void write_types(JsonWriter& json, const Program& program, const Backend* device) {
    struct Sum {
        uint64_t n_tensors = 0, bytes = 0;
    };
    std::map<DType, Sum> sums;
    for (const WeightDecl& weight : program.weights) {
        Sum& sum = sums[weight.dtype];
        ++sum.n_tensors;
        sum.bytes += file_bytes(weight);
    }
    json.begin_array();
    for (const auto& [dtype, sum] : sums) {
        json.begin_object();
        json.member("type", dtype_info(dtype).name);
        json.member("tensors", sum.n_tensors);
        json.member("bytes", sum.bytes);
        if (device != nullptr) {
            const WeightForm form = device->weight_form(dtype);
            json.member("runs_as", form.runs_as);
            json.member("precision", form.precision);
        }
        json.end_object();
    }
    json.end_array();
}

}  // namespace

std::string inspect_json(const Model& model, const Backend* device, uint64_t packed_bytes) {
    const std::string_view backend = device != nullptr && packed_bytes != 0 ? device->name() : "";
    JsonWriter json;
    json.begin_object();
    json.key("file");
    write_file(json, model.file());
    json.key("config");
    write_config(json, model.config());
    json.key("tokenizer");
    write_tokenizer(json, model);
    json.key("program");
    write_program(json, *model.program());
    json.key("weights");
    write_weights(json, model, backend, packed_bytes);
    json.key("types");
    write_types(json, *model.program(), device);
    json.key("metadata");
    write_metadata(json, model.file());
    json.key("tensors");
    write_tensors(json, model.file());
    json.end_object();
    return json.take();
}

uint64_t parameter_count(const Model& model) {
    uint64_t count = 0;
    for (const WeightDecl& weight : model.program()->weights)
        count += static_cast<uint64_t>(weight.rows) * weight.columns;
    return count;
}

}  // namespace takt::api
