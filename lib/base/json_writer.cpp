// Escapes what JSON demands and nothing more.
#include "base/json_writer.h"

#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"

namespace takt {

void JsonWriter::separate() {
    if (!first_) text_ += ',';
    first_ = false;
}

void JsonWriter::raw(std::string_view text) {
    separate();
    text_ += text;
}

void JsonWriter::open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
}

void JsonWriter::close(char bracket) {
    text_ += bracket;
    first_ = false;
}

void JsonWriter::key(std::string_view name) {
    separate();
    append_string(name);
    text_ += ':';
    first_ = true;  // no comma before the member's value
}

void JsonWriter::value(std::string_view text) {
    separate();
    append_string(text);
}

void JsonWriter::value(double v) {
    raw(std::isfinite(v) ? fmt::format("{}", v) : "null");
}

void JsonWriter::number(uint64_t v) {
    raw(fmt::format("{}", v));
}

void JsonWriter::number(int64_t v) {
    raw(fmt::format("{}", v));
}

void JsonWriter::append_string(std::string_view text) {
    text_ += '"';
    for (size_t at = 0; at < text.size();) {
        const Utf8Step step = utf8_step(text, at);
        if (step.kind != Utf8Kind::valid) {
            append_utf8(text_, 0xFFFD);
        } else if (step.code_point == '"' || step.code_point == '\\') {
            text_ += '\\';
            text_ += text[at];
        } else if (step.code_point < 0x20 || step.code_point == 0x7F) {
            text_ += fmt::format("\\u{:04x}", step.code_point);
        } else {
            text_ += text.substr(at, step.size);
        }
        at += step.size;
    }
    text_ += '"';
}

}  // namespace takt
