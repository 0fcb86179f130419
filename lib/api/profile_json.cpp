// Keys as takt.h promises them.
#include "api/profile_json.h"

#include "base/json_writer.h"

namespace takt::api {
namespace {

void write_part(JsonWriter& json, const ProfilePart& part, bool limits) {
    json.begin_object();
    json.member("name", part.name);
    json.member("count", part.count);
    json.member("median_ns", part.median_ns);
    json.member("operations", part.operations);
    if (limits) {
        json.member("peer_int8_ns", part.peer_int8_ns);
        json.member("peer_float_ns", part.peer_float_ns);
    }
    json.end_object();
}

void write_limits(JsonWriter& json, const DeviceLimits& limits) {
    json.begin_object();
    json.member("read_bytes_per_second", limits.read_bytes_per_second);
    json.member("int8_operations_per_second", limits.int8_operations_per_second);
    json.member("float_operations_per_second", limits.float_operations_per_second);
    json.end_object();
}

}  // namespace

std::string profile_json(const Profile& profile) {
    JsonWriter json;
    json.begin_object();
    json.member("backend", profile.backend);
    json.member("n_threads", profile.n_threads);
    json.member("weight_bytes", profile.cost.weight_bytes);
    json.member("kv_bytes", profile.kv_bytes);
    json.member("product_operations", profile.cost.product_operations);
    json.member("attention_operations", profile.cost.attention_operations);
    if (!profile.parts.empty()) {
        json.member("median_ns", profile.median_ns);
        json.key("parts");
        json.begin_array();
        for (const ProfilePart& part : profile.parts) write_part(json, part, profile.limits.has_value());
        json.end_array();
    }
    if (profile.limits) {
        json.key("limits");
        write_limits(json, *profile.limits);
    }
    json.end_object();
    return json.take();
}

}  // namespace takt::api
