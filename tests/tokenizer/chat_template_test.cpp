// What lib/tokenizer/chat_template.cpp must do: the prompts of real models' templates, and errors for
// everything else.
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <thread>

#include <nlohmann/json.hpp>

#include "small_stack.h"
#include "tokenizer/chat_template.h"

using namespace takt;

namespace {

using Json = nlohmann::ordered_json;
using Catch::Matchers::Contains;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const ChatTemplate> parse(std::string_view source) {
    auto parsed = ChatTemplate::parse(source);
    INFO(parsed.status().message());
    REQUIRE(parsed.ok());
    return *parsed;
}

Json context_of(const Json& one, bool generation) {
    Json context = one["special_tokens"];
    context["messages"] = one["messages"];
    context["tools"] = one["tools"];
    context["add_generation_prompt"] = generation;
    return context;
}

// The template of one of bad_gguf's files: a u64 length and its bytes follow the key and the type of the
// value.
std::string template_in(const std::string& file) {
    const std::string bytes = read_file(std::string(TAKT_TEST_DATA_DIR "/bad_gguf/") + file);
    const std::string key = "tokenizer.chat_template";
    const size_t place = bytes.find(key);
    REQUIRE(place != std::string::npos);
    const size_t length_at = place + key.size() + 4;
    uint64_t length = 0;
    for (size_t i = 0; i < 8; ++i)
        length |= uint64_t{static_cast<uint8_t>(bytes.at(length_at + i))} << (8 * i);
    REQUIRE(length < bytes.size());
    return bytes.substr(length_at + 8, length);
}

Result<std::string> render(std::string_view source, std::string_view context) {
    auto parsed = ChatTemplate::parse(source);
    if (!parsed.ok()) return parsed.status();
    return (*parsed)->render(context, 0);
}

constexpr std::string_view kOneMessage = R"({"messages": [{"role": "user", "content": "hi"}]})";

}  // namespace

TEST_CASE("The templates of real models give transformers' prompts") {
    const std::string name = GENERATE("smollm2-135m-instruct-q4_1", "qwen2.5-coder-0.5b-instruct-q4_k_m",
                                      "qwen2.5-coder-1.5b-instruct-q4_k_m");
    const Json file = Json::parse(read_file(TAKT_TEST_DATA_DIR "/golden/chat_" + name + ".json"));
    const auto chat = parse(file["chat_template"].get<std::string>());
    for (const Json& one : file["cases"]) {
        INFO(name << " " << one["name"]);
        CHECK(*chat->render(context_of(one, true).dump(), 0) == one["prompt_generation"].get<std::string>());
        const auto prompt = chat->render(context_of(one, false).dump(), 0);
        CHECK(*prompt == one["prompt"].get<std::string>());
        if (one.contains("prompt_continue")) {
            const auto content = one["messages"].back()["content"].get<std::string>();
            CHECK(*end_at_final_message(*prompt, content) == one["prompt_continue"].get<std::string>());
        }
    }
}

TEST_CASE("Hostile templates of model files are errors with a place") {
    const auto syntax = render(template_in("135_template_syntax.gguf"), kOneMessage);
    CHECK(syntax.status().code() == StatusCode::template_error);
    CHECK_THAT(syntax.status().message(), Contains("line") && Contains("column") && Contains("expected"));

    const auto attack = render(template_in("138_template_attack.gguf"), kOneMessage);
    CHECK(attack.status().code() == StatusCode::template_error);
    CHECK_THAT(attack.status().message(), Contains("__class__") && Contains("undefined"));

    const auto raised = render(template_in("139_template_raise.gguf"), kOneMessage);
    CHECK(raised.status().code() == StatusCode::template_error);
    CHECK_THAT(raised.status().message(), Contains("roles must alternate"));

    Result<std::string> deep = Status();
    const std::string source = template_in("137_template_deep.gguf");
    takt::test::on_small_stack([&] { deep = render(source, kOneMessage); });
    CHECK(deep.status().code() == StatusCode::template_error);
    CHECK_THAT(deep.status().message(), Contains("nesting") && Contains("limit"));
}

TEST_CASE("Variables that are no JSON object are the caller's error") {
    const auto chat = parse("{{ a }}");
    const auto message_of = [&](std::string_view json) {
        const auto result = chat->render(json, 0);
        CHECK(result.status().code() == StatusCode::invalid_argument);
        return result.status().message();
    };
    CHECK_THAT(message_of("[1]"), Contains("object") && Contains("list"));
    CHECK_THAT(message_of("{\"a\": 1,}"), Contains("byte 9"));
    CHECK_THAT(message_of(""), Contains("byte"));
    CHECK_THAT(message_of("{\"a\": \"\xff\"}"), Contains("byte"));
    CHECK_THAT(message_of("{} x"), Contains("byte"));
    CHECK_THAT(message_of("{\"a\": \"\\ud800\"}"), Contains("byte"));
    std::string deep = "{\"a\": " + std::string(100000, '[');
    std::string message;
    takt::test::on_small_stack([&] { message = chat->render(deep, 0).status().message(); });
    CHECK_THAT(message, Contains("deeper than 200 levels"));
    CHECK(*chat->render(R"({"a": 1, "b": 2, "a": [3]})", 0) == "[3]");
}

TEST_CASE("Templates that aren't UTF-8 or too long are refused") {
    CHECK_THAT(ChatTemplate::parse("ab\xff").status().message(), Contains("UTF-8 at byte 2"));
    CHECK_THAT(ChatTemplate::parse(std::string(5u << 20, 'x')).status().message(),
               Contains("5242880 bytes") && Contains("1048576 bytes"));
    CHECK(*parse("")->render("{}", 0) == "");
}

TEST_CASE("Ten thousand messages render within the limits") {
    const Json file =
        Json::parse(read_file(TAKT_TEST_DATA_DIR "/golden/chat_qwen2.5-coder-0.5b-instruct-q4_k_m.json"));
    Json context;
    for (int i = 0; i < 10000; ++i) {
        context["messages"].push_back(
            {{"role", i % 2 ? "assistant" : "user"}, {"content", std::string(200, 'x')}});
    }
    const auto prompt = parse(file["chat_template"].get<std::string>())->render(context.dump(), 0);
    INFO(prompt.status().message());
    REQUIRE(prompt.ok());
    CHECK(prompt->size() > 2'000'000);
}

TEST_CASE("Messages that break a template's rules are its errors") {
    const Json file =
        Json::parse(read_file(TAKT_TEST_DATA_DIR "/golden/chat_qwen2.5-coder-0.5b-instruct-q4_k_m.json"));
    const auto chat = parse(file["chat_template"].get<std::string>());
    for (const char* messages :
         {R"([{"content": "x"}])", R"([{"role": "user"}])", R"([{"role": "user", "content": null}])",
          R"([{"role": "user", "content": [{"type": "text"}]}])", "[]", "[1]", "null"}) {
        INFO(messages);
        const auto result = chat->render(std::string(R"({"messages": )") + messages + "}", 0);
        if (!result.ok()) CHECK(result.status().code() == StatusCode::template_error);
    }
    CHECK_THAT(chat->render(R"({"messages": [{"role": "user"}]})", 0).status().message(),
               Contains("'content'") && Contains("undefined") && Contains("line 23, column 50"));
}

TEST_CASE("One template renders on many threads at once") {
    const auto chat = parse(
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + m %}{% endfor %}"
        "{{ ns.n }}{{ ['a', 'b']|map('upper')|join }}");
    std::vector<std::thread> threads;
    std::vector<std::string> results(4);
    for (std::string& result : results) {
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) result = *chat->render(R"({"messages": [1, 2, 3]})", 0);
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(results == std::vector<std::string>(4, "6AB"));
}

TEST_CASE("A prompt can end at the final message's content") {
    CHECK(*end_at_final_message("<a>Sure:<end>\n", "Sure:") == "<a>Sure:");
    CHECK(*end_at_final_message("<a>x <end>", "x ") == "<a>x ");
    CHECK(*end_at_final_message("<a>x<end>", "x ") == "<a>x");
    CHECK(*end_at_final_message("<u>x<a>x<end>", "x") == "<u>x<a>x");
    CHECK(end_at_final_message("<a>y<end>", "x").status().code() == StatusCode::template_error);
}
