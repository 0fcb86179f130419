// JSON text against nlohmann's reader of it.
#include <catch2/catch.hpp>

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json_writer.h"

using namespace takt;

TEST_CASE("What is written is what another library reads") {
    JsonWriter json;
    json.begin_object();
    json.member("text", "a \"quoted\" \\ line\n\t\x01\x7f é 😀");
    json.member("broken", std::string("a\xff\xc3"));
    json.member("least", INT64_MIN);
    json.member("most", UINT64_MAX);
    json.member("half", 0.5);
    json.member("tenth", 0.1);
    json.member("nan", std::nan(""));
    json.member("absent", std::optional<double>());
    json.member("yes", true);
    json.key("list");
    json.begin_array();
    json.value(1u);
    json.begin_array();
    json.end_array();
    json.begin_object();
    json.end_object();
    json.null();
    json.end_array();
    json.key("\"key\"");
    json.value("v");
    json.end_object();
    const auto read = nlohmann::json::parse(json.take());
    CHECK(read.size() == 11);
    CHECK(read["text"] == "a \"quoted\" \\ line\n\t\x01\x7f é 😀");
    CHECK(read["broken"] == "a\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(read["least"].get<int64_t>() == INT64_MIN);
    CHECK(read["most"].get<uint64_t>() == UINT64_MAX);
    CHECK(read["half"] == 0.5);
    CHECK(read["tenth"].get<double>() == 0.1);
    CHECK(read["nan"].is_null());
    CHECK(read["absent"].is_null());
    CHECK(read["yes"] == true);
    CHECK(read["list"] == nlohmann::json::parse("[1,[],{},null]"));
    CHECK(read["\"key\""] == "v");
}
