// Every file of bad_gguf through Model::load: what must be refused is, with the words a good message holds.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tiny_models.h"

using namespace takt;

namespace {

struct BadFile {
    std::string file, expect, words, condition;
};

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

std::vector<BadFile> bad_files() {
    std::ifstream table(std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/cases.tsv");
    REQUIRE(table.good());
    std::vector<BadFile> files;
    std::string line;
    std::getline(table, line);  // the head
    while (std::getline(table, line)) {
        std::vector<std::string> columns = split(line, '\t');
        columns.resize(6);
        files.push_back({columns[1], columns[3], columns[4], columns[5]});
    }
    return files;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// "a;b" asks for both, "a|b" for either.
bool holds_words(const std::string& message, const std::string& words) {
    const std::string text = lower(message);
    for (const std::string& all : split(lower(words), ';')) {
        const std::vector<std::string> any = split(all, '|');
        if (std::none_of(any.begin(), any.end(),
                         [&](const std::string& word) { return text.find(word) != std::string::npos; }))
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("Each bad file loads or is refused as its case says") {
    for (const BadFile& bad : bad_files()) {
        const Result<std::shared_ptr<const Model>> model =
            test::load_model(std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/" + bad.file);
        CAPTURE(bad.file, bad.expect, bad.condition, bad.words, model.status().message());
        // Bad weights show in the logits and bad templates when they are rendered; until then such a file is
        // a model.
        const bool may_load = bad.expect != "error",
                   may_fail = bad.expect == "error" || bad.expect == "load_or_error";
        CHECK((model.ok() ? may_load : may_fail));
        if (!model.ok()) CHECK(holds_words(model.status().message(), bad.words));
    }
}

TEST_CASE("An extra tensor of no meaning is ignored with a warning") {
    std::vector<std::string> warnings;
    const Logger logger([&](LogLevel level, std::string_view text) {
        if (level == LogLevel::warning && text.starts_with("Tensor")) warnings.emplace_back(text);
    });
    const auto model =
        test::load_model(std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/073_tensor_unknown_extra.gguf", logger);
    REQUIRE(model.ok());
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] == "Tensor blk.0.mystery.weight is not part of a llama model and is ignored.");
}

TEST_CASE("A template that doesn't parse costs the model its chat alone") {
    std::vector<std::string> warnings;
    const Logger logger([&](LogLevel level, std::string_view text) {
        if (level == LogLevel::warning) warnings.emplace_back(text);
    });
    const auto model =
        test::load_model(std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/135_template_syntax.gguf", logger);
    REQUIRE(model.ok());
    CHECK(warnings.size() == 1);
    const auto chat_template = (*model)->chat_template();
    REQUIRE_FALSE(chat_template.ok());
    CHECK(chat_template.status().code() == StatusCode::template_error);
}
