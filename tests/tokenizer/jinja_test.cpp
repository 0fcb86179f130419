// What the template interpreter (lib/tokenizer/jinja) must do: print what Jinja2 prints, and stop at
// its limits.
#include <catch2/catch.hpp>

#include <fstream>

#include <nlohmann/json.hpp>

#include "small_stack.h"
#include "tokenizer/chat_template.h"

using namespace takt;
using takt::test::on_small_stack;

namespace {

using Json = nlohmann::ordered_json;

Json read_json(const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file.good());
    return Json::parse(file);
}

Result<std::string> render(std::string_view source, std::string_view context = "{}",
                           const ChatTemplateLimits& limits = {}, int64_t now = 0) {
    auto parsed = ChatTemplate::parse(source, limits);
    if (!parsed.ok()) return parsed.status();
    return (*parsed)->render(context, now);
}

// The sentence of a failure, or what was rendered.
std::string error_of(std::string_view source, std::string_view context = "{}",
                     const ChatTemplateLimits& limits = {}) {
    const auto result = render(source, context, limits);
    if (result.ok()) return "rendered: " + *result;
    CHECK(result.status().code() == StatusCode::template_error);
    return result.status().message();
}

void check_cases(const Json& file, const std::string& context) {
    const auto now = file.value("now", int64_t{0});
    for (const Json& one : file["cases"]) {
        const auto source = one["template"].get<std::string>();
        INFO(one["name"].get<std::string>() << ": " << source);
        const auto result = render(source, context, {}, now);
        if (one.contains("output")) {
            INFO(result.status().message());
            REQUIRE(result.ok());
            CHECK(*result == one["output"].get<std::string>());
        } else {
            INFO(one["error"].get<std::string>());
            CHECK_FALSE(result.ok());
            CHECK(result.status().message().find("line ") != std::string::npos);
            CHECK(result.status().message().find("column ") != std::string::npos);
        }
    }
}

std::string repeat(std::string_view text, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) out += text;
    return out;
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("Templates print what Jinja2 printed in the golden cases") {
    const Json file = read_json(TAKT_TEST_DATA_DIR "/golden/jinja.json");
    check_cases(file, file["context"].dump());
}

TEST_CASE("Templates print what Jinja2 printed in our own cases") {
    const Json file = read_json(TAKT_TEST_DATA_DIR "/jinja/cases.json");
    CHECK(file["cases"].size() > 150);
    check_cases(file, file["context_json"].get<std::string>());
}

TEST_CASE(
    "Unknown filters, tests and statements are refused at parse with their place, even where nothing runs "
    "them") {
    CHECK(error_of("{% if false %}\n  {{ x | frobnicate }}{% endif %}") ==
          "Chat template, line 2, column 10: unknown filter 'frobnicate'.");
    CHECK(error_of("é{{ x is odder }}") == "Chat template, line 1, column 10: unknown test 'odder'.");
    CHECK(error_of("{% include 'x' %}") ==
          "Chat template, line 1, column 4: the statement 'include' is not supported in chat templates.");
    for (const std::string name :
         {"extends 'a'", "import 'a' as b", "from 'a' import b", "block x", "autoescape true"}) {
        CHECK_THAT(error_of("{% " + name + " %}"),
                   Contains("not supported") && Contains(name.substr(0, name.find(' '))));
    }
    CHECK_THAT(error_of("{% if a %}{% endfor %}"), Contains("unexpected 'endfor'"));
}

TEST_CASE("Nothing of the host can be reached") {
    const std::string context = R"({"messages": [], "d": {"__class__": 1}})";
    CHECK_THAT(error_of("{{ messages.__class__.__mro__[1].__subclasses__() }}", context),
               Contains("undefined") && Contains("__class__"));
    CHECK(*render("[{{ ''.__class__ }}{{ messages['__init__'] }}{{ lipsum }}{{ cycler }}{{ self }}{{ "
                  "range.__globals__ }}]",
                  context) == "[]");
    CHECK_THAT(error_of("{{ lipsum() }}"), Contains("'lipsum' is undefined"));
    CHECK_THAT(error_of("{{ messages.append(1) }}", context), Contains("append") && Contains("not allowed"));
    CHECK(*render("{{ c }}", R"({"c": "{{ 7*7 }}{% for %}"})") == "{{ 7*7 }}{% for %}");
}

TEST_CASE("Work has an end: loops, recursion, sizes") {
    const auto nested = repeat("{% for i in range(100000) %}", 4) + "x" + repeat("{% endfor %}", 4);
    CHECK_THAT(error_of(nested), Contains("limit of 2000000 steps"));
    CHECK_THAT(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
               Contains("nesting passes the limit"));
    CHECK_THAT(error_of("{{ 'x' * 10**9 }}"), Contains("limit of 16777216"));
    CHECK_THAT(error_of("{{ [0] * 10**9 }}"), Contains("limit of 2000000"));
    CHECK_THAT(error_of("{{ 2**10000 }}"), Contains("overflow"));
    CHECK_THAT(error_of("{{ range(10**7) }}"), Contains("limit of 100000"));
    CHECK_THAT(error_of("{{ 'x'.center(10**12) }}"), Contains("limit of 16777216"));
    CHECK_THAT(error_of("{{ '%999999999999d' % 1 }}"), Contains("limit of 16777216"));
    CHECK_THAT(error_of("{{ '%.99999f' % 1 }}"), Contains("limit of 1000"));
    CHECK_THAT(error_of("{{ '{:999999999999}'.format(1) }}"), Contains("limit of 16777216"));
    CHECK_THAT(error_of("{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}"), Contains("limit of 16777216"));
    CHECK_THAT(error_of("{{ 'a'|indent(10**10) }}"), Contains("limit of 16777216"));
    CHECK_THAT(error_of("{{ [1]|tojson(indent=10**10) }}"), Contains("too wide"));
    CHECK_THAT(error_of("{{ [1]|batch(10**12, 0)|list }}"), Contains("batch()"));
    const auto doubling =
        "{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}";
    CHECK_THAT(error_of(doubling), Contains("limit of 16777216 bytes"));
    const auto tree =
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
    CHECK_THAT(error_of(std::string(tree) + "{{ ns.x }}"), Contains("limit of"));
    CHECK_THAT(
        error_of(std::string(tree) +
                 "{% set y = ns.x[0] + [] %}{{ [ns.x[0][0], y[1]] == [y[0], ns.x[1][0]] }}{{ ns.x|tojson }}"),
        Contains("limit of"));
    ChatTemplateLimits limits;
    limits.max_output_bytes = 10;
    CHECK_THAT(error_of("{% for i in range(20) %}x{% endfor %}", "{}", limits),
               Contains("limit of 10 bytes"));
    limits.max_template_bytes = 5;
    CHECK_THAT(error_of("123456", "{}", limits), Contains("6 bytes") && Contains("5 bytes"));
}

TEST_CASE("Cycles through namespaces, macros and loops end and leak nothing") {
    CHECK_THAT(error_of("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}"), Contains("limit"));
    CHECK(*render(
              "{% set ns = namespace() %}{% macro f() %}{{ ns.f is defined }}{% endmacro %}{% set ns.f = f %}"
              "{% for i in [1] recursive %}{% set ns.loop = loop %}{% endfor %}{{ f() }}{{ ns.loop.index0 "
              "}}") == "True1");
}

TEST_CASE("Deep templates and values are clean errors on a stack of 128 KiB") {
    const size_t n = 3000;
    const auto twice = [&](std::string_view a, std::string_view b) { return std::string(a) + repeat(b, n); };
    const std::vector<std::string> sources = {
        "{{ " + repeat("(", n) + "1" + repeat(")", n) + " }}",
        "{{ " + repeat("[", n) + "1" + repeat("]", n) + " }}",
        "{{ " + repeat("{1:", n) + "1" + repeat("}", n) + " }}",
        "{{ " + repeat("f(", n) + "1" + repeat(")", n) + " }}",
        "{{ " + repeat("a[", n) + "1" + repeat("]", n) + " }}",
        "{{ " + repeat("not ", n) + "1 }}",
        "{{ " + repeat("-", n) + "1 }}",
        "{{ " + repeat("1 if 1 else ", n) + "1 }}",
        "{{ " + twice("a", ".b") + " }}",
        "{{ " + twice("1", "|abs") + " }}",
        "{{ " + twice("1", " + 1") + " }}",
        "{{ " + twice("1", " ** 1") + " }}",
        "{{ " + twice("1", " is odd") + " }}",
        "{{ " + twice("f", "()") + " }}",
        repeat("{% if 1 %}", 40000),
        repeat("{% for i in [1] %}", n) + "x" + repeat("{% endfor %}", n),
        repeat("{% set x %}", n),
        "{% set " + repeat("(", n) + "x",
        "{% macro f(a) %}{{ f([a]) }}{% endmacro %}{{ f(1) }}",
        "{% macro f(a) %}{% if 1 %}{% for i in [1] %}{{ f(a|map('string')|list|join) }}{% endfor %}{% endif "
        "%}{% endmacro %}{{ f('x') }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{% set o = namespace() %}{% set o.x = o %}{{ [ns] }}",
        "{{ " + repeat("'{:", 1) + repeat("{:", n) + "'.format(1) }}",
    };
    for (const std::string& source : sources) {
        Result<std::string> result = Status();
        on_small_stack([&] { result = render(source); });
        INFO(source.substr(0, 60));
        CHECK_FALSE(result.ok());
        CHECK(result.status().code() == StatusCode::template_error);
        CHECK(result.status().message().find("column") != std::string::npos);
    }
}

TEST_CASE("Depth below the limits is no error, and long chains without nesting have no limit but the size") {
    Result<std::string> result = Status();
    const auto check = [&](const std::string& source, std::string_view context, std::string_view expected) {
        on_small_stack([&] { result = render(source, context); });
        INFO(source.substr(0, 60) << " → " << result.status().message());
        REQUIRE(result.ok());
        CHECK(*result == expected);
    };
    check("{{ " + repeat("(", 40) + "1" + repeat(")", 40) + " }}", "{}", "1");
    check("{{ " + repeat("[", 40) + "1" + repeat("]", 40) + " }}", "{}",
          repeat("[", 40) + "1" + repeat("]", 40));
    check(repeat("{% if 1 %}", 60) + "x" + repeat("{% endif %}", 60), "{}", "x");
    check("{{ '' " + repeat("~ 'a'", 1000) + " }}", "{}", repeat("a", 1000));
    check("{{ 1 " + repeat("and 1 ", 1000) + " }}", "{}", "1");
    check("{{ 1 + 1" + repeat(" + 1", 150) + " }}", "{}", "152");
    check("{% if 0 %}" + repeat("{% elif 0 %}", 5000) + "{% else %}x{% endif %}", "{}", "x");
    check("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% else %}end{% endif %}{% endmacro %}{{ f(15) }}", "{}",
          "end");
    const std::string deep = repeat("[", 150) + repeat("]", 150);
    check("{{ x == x and [x] == [x] and x|tojson == x|string }}", R"({"x": )" + deep + "}", "True");
}

TEST_CASE("Numbers print with a point whatever the locale, and floats as Python's repr") {
    CHECK(*render("{{ 1.5 }} {{ 1e100 }} {{ 0.1 + 0.2 }} {{ '%.2f' % 1.005 }} {{ x }}", R"({"x": 1e-300})") ==
          "1.5 1e+100 0.30000000000000004 1.00 1e-300");
    CHECK(*render("{{ x }} {{ x + 1 }}", R"({"x": 170141183460469231731687303715884105726})") ==
          "170141183460469231731687303715884105726 170141183460469231731687303715884105727");
    CHECK_THAT(error_of("{{ 170141183460469231731687303715884105727 + 1 }}"), Contains("overflow"));
    CHECK_THAT(error_of("{{ 170141183460469231731687303715884105728 }}"), Contains("doesn't fit 128 bits"));
    CHECK_THAT(error_of("{{ -170141183460469231731687303715884105727 - 2 }}"), Contains("overflow"));
    CHECK_THAT(error_of("{{ 10**30 * 10**30 }}"), Contains("overflow"));
}

TEST_CASE("Random edits of templates never do worse than an error") {
    const Json file = read_json(TAKT_TEST_DATA_DIR "/jinja/cases.json");
    const auto context = file["context_json"].get<std::string>();
    ChatTemplateLimits limits;
    limits.max_steps = 20000;
    uint64_t state = 88172645463325252u;
    const auto random = [&](size_t n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<size_t>(state % n);
    };
    static constexpr std::string_view kPieces[] = {"{{", "}}", "{%", "%}", "-",   "(",    ")",    "[",   "]",
                                                   "|",  "'",  "\\", "é",  "if ", "for ", "else", "in ", "**",
                                                   "~",  ",",  ".",  ":",  "0",   "9",    " ",    "\n",  "="};
    size_t n_rendered = 0;
    for (int round = 0; round < 30; ++round) {
        for (const Json& one : file["cases"]) {
            auto source = one["template"].get<std::string>();
            for (size_t edits = 1 + random(3); edits > 0; --edits) {
                const size_t at = random(source.size() + 1);
                if (random(2) == 0 && at < source.size()) {
                    source.erase(at, 1 + random(4));
                } else {
                    source.insert(at, kPieces[random(std::size(kPieces))]);
                }
            }
            const auto result = render(source, context, limits);
            n_rendered += result.ok();
            if (!result.ok()) CHECK(result.status().code() == StatusCode::template_error);
        }
    }
    CHECK(n_rendered > 100);
}
