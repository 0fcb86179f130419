// What an engine's numbers are told with: the conditions they came about under, limits, energy.
#include <map>

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "base/json_writer.h"
#include "base/os.h"
#include "engine/engine_impl.h"
#include "tensor/dtype.h"

namespace takt {
namespace {

// Bytes of the weights by type: what a file is called after is seldom all that is in it.
void write_quantization(JsonWriter& json, const Program& program) {
    std::map<std::string_view, uint64_t> bytes;
    for (const WeightDecl& weight : program.weights)
        bytes[dtype_info(weight.dtype).name] += file_bytes(weight);
    json.key("quantization_bytes");
    json.begin_object();
    for (const auto& [name, n] : bytes) json.member(name, n);
    json.end_object();
}

void write_machine(JsonWriter& json, const DeviceInfo& device) {
    json.member("cpu", device.name);
    json.member("isa", device.isa);
    json.member("cores", os::allowed_cores());
    json.key("quota_cpus");
    const uint32_t quota = os::cgroup_cpus();
    quota == UINT32_MAX ? json.null() : json.value(quota);
    json.key("governor");
    const std::string governor = os::cpu_governor();
    governor.empty() ? json.null() : json.value(governor);
    json.member("load_average", os::load_average());
}

}  // namespace

std::shared_ptr<const StepCostTable> Engine::Impl::cost_table(const PackedWeights& weights) const {
    const Program& program = *model->program();
    const auto bytes_of = [&](WeightId id) {
        return weights.bytes_of(id).value_or(file_bytes(program.weight(id)));
    };
    const auto kv_bytes = [&](uint64_t n_values) {
        return row_bytes(kv_dtype.value_or(DType::f16), n_values);
    };
    return std::make_shared<const StepCostTable>(program, bytes_of, kv_bytes);
}

std::string Engine::Impl::run_conditions() const {
    const Result<Backend*> device = runtime->find_backend(backend);
    const EngineStatistics statistics = worker->board().read();
    JsonWriter json;
    json.begin_object();
    json.member("backend", backend);
    write_machine(json, device.ok() ? (*device)->device_info() : DeviceInfo{});
    json.key("kernels");
    json.begin_object();
    for (const auto& [what, choice] :
         device.ok() ? (*device)->choices(*model->program()) : std::vector<KernelChoice>{})
        json.member(what, choice);
    json.end_object();
    json.member("prefill_threads", runtime->many_row_threads());
    json.member("decode_threads", runtime->few_row_threads());
    json.member("model_name", model->config().model_name);
    json.member("family", model->config().family);
    json.member("fingerprint", fmt::format("{:016x}", model->fingerprint()));
    write_quantization(json, *model->program());
    json.member("kv", kv_dtype ? dtype_info(*kv_dtype).name : "unknown");
    json.member("context_tokens", options.context_tokens);
    json.member("max_sequences", options.max_sequences);
    json.member("chunk_tokens", options.chunk_tokens);
    json.member("page_tokens", options.page_tokens);
    json.member("deterministic", options.deterministic);
    json.member("prefix_reuse", options.prefix_reuse);
    json.member("draft_model", options.draft_model ? options.draft_model->config().model_name : "");
    json.member("warm", statistics.n_steps > 0);
    json.end_object();
    return json.take();
}

void Engine::snapshot(Statistics& statistics) const {
    impl_->worker->board().snapshot(statistics, impl_->runtime->clock());
    statistics.totals.energy_microjoules = impl_->runtime->energy().microjoules() - impl_->energy_at_begin;
}

std::string Engine::trace_json() const {
    const Origin from = origin();
    return impl_->worker->trace().json(fmt::format("engine {}: {}", from.engine, from.model_name));
}

Origin Engine::origin() const {
    const DeviceLimits limits = impl_->runtime->limits(impl_->backend);
    Origin origin;
    origin.model_name = impl_->model->config().model_name;
    origin.engine = impl_->options.name.empty() ? fmt::to_string(impl_->number) : impl_->options.name;
    origin.conditions = {impl_->run_conditions()};
    origin.identity = impl_->identity;
    origin.smooth = impl_->options.smooth;
    origin.energy_is_known = impl_->runtime->energy().is_readable();
    origin.energy_method = impl_->runtime->energy().method();
    origin.read_bytes_per_second = limits.read_bytes_per_second.value_or(0);
    origin.int8_operations_per_second = limits.int8_operations_per_second.value_or(0);
    return origin;
}

}  // namespace takt
