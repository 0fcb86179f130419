// The collection of bad and odd files: those of the reader's groups do what cases.tsv says, the others at
// least do no harm.
#include "gguf/gguf_reader.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace takt;

namespace {

struct Case {
    std::string file, group, expect, words;
};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
    return parts;
}

std::string folder() {
    return std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/";
}

std::vector<Case> cases() {
    std::ifstream table(folder() + "cases.tsv");
    REQUIRE(table.good());
    std::vector<Case> all;
    std::string line;
    std::getline(table, line);  // the column names
    while (std::getline(table, line)) {
        const std::vector<std::string> columns = split(line, '\t');
        REQUIRE(columns.size() >= 5);
        all.push_back({columns[1], columns[2], columns[3], columns[4]});
    }
    return all;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// `a;b` asks for both, `a|b` for one of them.
bool has_words(const std::string& message, const std::string& words) {
    const std::string text = lower(message);
    for (const std::string& choice : split(lower(words), ';')) {
        const std::vector<std::string> any = split(choice, '|');
        if (std::none_of(any.begin(), any.end(),
                         [&](const auto& word) { return text.find(word) != std::string::npos; }))
            return false;
    }
    return true;
}

Status open_case(const std::string& name) {
    const auto source = open_file(folder() + name);
    if (!source.ok()) return source.status();
    return GgufFile::open(*source).status();
}

// What the file is called must not stand in for what the message says.
std::string without_path(const std::string& message) {
    const size_t end = message.find(".gguf: ");
    return end == std::string::npos ? message : message.substr(end + 7);
}

// Right for the reader; wrong only where shapes and names meet the model's hyperparameters.
bool is_for_the_model(const Case& item) {
    static const std::set<std::string> kFiles = {"072_tensor_missing.gguf", "074_shape_swapped.gguf",
                                                 "075_embd_rows_200.gguf"};
    return kFiles.count(item.file) != 0;
}

}  // namespace

TEST_CASE("Bad files of the reader's own groups are refused with the words that a good message holds") {
    const std::set<std::string> own = {"GGUF header", "KV metadata", "tensor infos", "tensor data"};
    int n_refused = 0;
    for (const Case& item : cases()) {
        if (own.count(item.group) == 0 || is_for_the_model(item)) continue;
        const Status status = open_case(item.file);
        INFO(item.file << ": " << status.message());
        if (item.expect == "error") CHECK_FALSE(status.ok());
        if (status.ok()) continue;
        CHECK(has_words(without_path(status.message()), item.words));
        ++n_refused;
    }
    CHECK(n_refused >= 57);
}

TEST_CASE("Odd files that are right all load") {
    int n_loaded = 0;
    for (const Case& item : cases()) {
        if (item.expect != "load") continue;
        const Status status = open_case(item.file);
        INFO(item.file << ": " << status.message());
        CHECK(status.ok());
        ++n_loaded;
    }
    CHECK(n_loaded >= 12);
}

TEST_CASE("Files that later layers refuse pass the reader") {
    for (const Case& item : cases()) {
        if (item.group != "hyper-parameters" && item.group != "tokenizer" && item.group != "chat template")
            continue;
        const Status status = open_case(item.file);
        INFO(item.file << ": " << status.message());
        CHECK(status.ok());
    }
}
