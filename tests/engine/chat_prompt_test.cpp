// Messages to a prompt: the template's variables, one BOS, and faults named by place.
#include "engine/chat_prompt.h"

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

std::string rendered(std::string_view json, bool add_generation_prompt = true) {
    const auto text = render_chat(*tiny_llama(), json, add_generation_prompt);
    INFO(text.status().message());
    REQUIRE(text.ok());
    return *text;
}

void check_refused(std::string_view json, StatusCode code, const std::string& words) {
    const auto text = render_chat(*tiny_llama(), json, true);
    INFO(json.substr(0, 60) << ": " << text.status().message());
    CHECK(text.status().code() == code);
    CHECK(text.status().message().find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("messages are rendered by the file's template") {
    const char* json = R"({"messages":[{"role":"user","content":"Hi \"{{ 7*7 }}\" ü"}]})";
    CHECK(rendered(json) == "<|im_start|>user\nHi \"{{ 7*7 }}\" ü<|im_end|>\n<|im_start|>assistant\n");
    CHECK(rendered(json, false) == "<|im_start|>user\nHi \"{{ 7*7 }}\" ü<|im_end|>\n");
    CHECK(rendered(R"({"messages":[]})") == "<|im_start|>assistant\n");
}

TEST_CASE("a chat that is no chat is refused by the place of its fault") {
    check_refused("", StatusCode::invalid_argument, "byte");
    check_refused("{\"messages\": [}", StatusCode::invalid_argument, "byte 15");
    check_refused("[]", StatusCode::invalid_argument, "not an object");
    check_refused("{}", StatusCode::invalid_argument, "messages");
    check_refused(R"({"messages":5})", StatusCode::invalid_argument, "messages");
    check_refused(R"({"messages":[{"role":"user","content":"a"}, 5]})", StatusCode::invalid_argument,
                  "messages[1]");
    check_refused(R"({"messages":[{"content":"a"}]})", StatusCode::invalid_argument, "messages[0].role");
    check_refused(R"({"messages":[{"role":"user"}]})", StatusCode::template_error, "line 1");
    const std::string deep = "{\"messages\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
    check_refused(deep, StatusCode::invalid_argument, "deeper");
    check_refused("{\"messages\":[{\"role\":\"user\",\"content\":\"\xFF\"}]}", StatusCode::invalid_argument,
                  "byte");
}

TEST_CASE("a file without a template says so") {
    const auto text = render_chat(*tiny_gemma(), R"({"messages":[]})", true);
    CHECK(text.status().code() == StatusCode::template_missing);
}

TEST_CASE("a rendered prompt has the BOS that the file asks for, once") {
    const auto ids_of = [](const Model& model, std::string_view text) {
        const auto ids = encode_rendered(model, text);
        REQUIRE(ids.ok());
        return *ids;
    };
    // The tiny llama adds BOS (380, <|endoftext|>); its template writes none.
    const auto added = ids_of(*tiny_llama(), "<|im_start|>a");
    CHECK(added == std::vector<int32_t>{380, 381, kLetterA});
    CHECK(ids_of(*tiny_llama(), "<|endoftext|><|im_start|>a") == added);
    CHECK(ids_of(*load_tiny("qwen2"), "<|im_start|>a").front() == 381);  // asks for none
    CHECK(ids_of(*tiny_gemma(), "<s>a").front() == 2);
    CHECK(ids_of(*tiny_gemma(), "<s>a").size() == 2);
}

}  // namespace takt
