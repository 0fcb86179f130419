// Step costs out of bench lines that were made from known costs, and lines that are no such lines.
#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "numbers/measured_steps.h"

using namespace cli;

namespace {

std::string line(const char* test, uint32_t tokens, uint32_t depth, uint32_t sequences, double step_ns) {
    const double rows = std::string(test) == "decode" ? sequences : tokens;
    return fmt::format(R"({{"test":"{}","tokens":{},"depth":{},"sequences":{},"median":{:.17g},"threads":2}})"
                       "\n",
                       test, tokens, depth, sequences, rows / step_ns * 1e9);
}

std::string failure(const std::string& text) {
    try {
        parse_bench_lines(text);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a step of a decode test has a row a sequence, a prefill its prompt") {
    const auto lines = parse_bench_lines(line("decode", 11, 64, 8, 4e6) + "\n" +
                                         line("decode", 11, 64, 1, 1e6) + line("prefill", 64, 0, 1, 9e6) +
                                         line("prefill", 64, 0, 4, 9e6) + "{\"test\":\"decode ops\"}\n");
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].sequences == 8);
    const StepTables tables = fit_steps(lines);
    REQUIRE(tables.decode.size() == 2);
    CHECK((tables.decode[0].n_rows == 1 && tables.decode[0].step_ns == Approx(1e6)));
    CHECK((tables.decode[1].n_rows == 8 && tables.decode[1].step_ns == Approx(4e6)));
    REQUIRE(tables.prefill.size() == 1);
    CHECK((tables.prefill[0].n_rows == 64 && tables.prefill[0].step_ns == Approx(9e6)));
    CHECK(tables.decode_position_ns == 0);
    CHECK(tables.prefill_position_ns == 0);
}

TEST_CASE("two depths tell what a position costs") {
    // decode(k) = 1 ms + 0.1 ms k, and 500 ns a position; a decode of 11 tokens stands at depth + 5.
    std::string text;
    for (const uint32_t sequences : {1u, 4u}) {
        for (const uint32_t depth : {64u, 1000u})
            text +=
                line("decode", 11, depth, sequences, 1e6 + 1e5 * sequences + 500.0 * sequences * (depth + 5));
    }
    // prefill(n) = 1 ms + 50 us n, and 20 ns a position.
    for (const uint32_t depth : {0u, 500u})
        text += line("prefill", 33, depth, 1, 1e6 + 5e4 * 33 + 20.0 * 33 * (depth + 16));
    const StepTables tables = fit_steps(parse_bench_lines(text));
    CHECK(tables.decode_position_ns == Approx(500));
    CHECK(tables.prefill_position_ns == Approx(20));
    CHECK(tables.decode.at(0).step_ns == Approx(1.1e6));
    CHECK(tables.decode.at(1).step_ns == Approx(1.4e6));
    CHECK(tables.prefill.at(0).step_ns == Approx(1e6 + 5e4 * 33));
}

TEST_CASE("rows of prompts that were measured at one depth pay for positions what a decode does") {
    std::string text = line("prefill", 33, 0, 1, 1e6 + 500.0 * 33 * 16);
    for (const uint32_t depth : {0u, 300u}) text += line("decode", 11, depth, 1, 1e6 + 500.0 * (depth + 5));
    const StepTables tables = fit_steps(parse_bench_lines(text));
    CHECK(tables.decode_position_ns == Approx(500));
    CHECK(tables.prefill_position_ns == Approx(500));
    CHECK(tables.prefill.at(0).step_ns == Approx(1e6));
}

TEST_CASE("a prompt of several chunks gives a step of one, and what falls is lifted") {
    std::string text = R"({"test":"prefill","tokens":1024,"median":1000,"chunk_tokens":256})"
                       "\n" +
                       std::string(R"({"test":"decode","tokens":8,"sequences":1,"median":100})") + "\n" +
                       R"({"test":"decode","tokens":8,"sequences":2,"median":250})";
    const StepTables tables = fit_steps(parse_bench_lines(text));
    CHECK((tables.prefill.at(0).n_rows == 256 && tables.prefill.at(0).step_ns == Approx(256e6)));
    CHECK(tables.decode.at(0).step_ns == Approx(1e7));
    CHECK(tables.decode.at(1).step_ns == Approx(1e7));
}

TEST_CASE("a line that takt bench didn't write is named") {
    const std::string fine = line("decode", 8, 0, 1, 1e6);
    CHECK(failure(fine) == "");
    CHECK(failure("") == "");
    CHECK(failure(fine + "{") == "line 2: no line of takt bench --json.");
    CHECK(failure("[1]") == "line 1: no line of takt bench --json.");
    CHECK(failure(R"({"test":"decode","tokens":8,"median":0})").find("\"median\"") != std::string::npos);
    CHECK(failure(R"({"test":"decode","tokens":8,"median":"x"})").find("\"median\"") != std::string::npos);
    CHECK(failure(R"({"test":"decode","tokens":-8,"median":1})").find("\"tokens\" is -8") !=
          std::string::npos);
    CHECK(failure(R"({"test":"decode","tokens":1e99,"median":1})").find("\"tokens\"") != std::string::npos);
    CHECK(failure(R"({"test":"decode","median":1})").find("no \"tokens\"") != std::string::npos);
    CHECK(failure(R"({"test":"decode","tokens":8,"sequences":0,"median":1})").find("\"sequences\" is 0") !=
          std::string::npos);
    CHECK(failure(fine + R"({"test":"decode","tokens":8,"median":1,"threads":4})").find("threads 4") !=
          std::string::npos);
    CHECK(failure(fine + R"({"test":"decode","tokens":8,"median":1,"threads":2,"fingerprint":"0a"})")
              .find("another model") != std::string::npos);
}
