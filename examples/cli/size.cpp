// takt size: what a load needs and costs, and what a machine can carry.
#include "size.h"

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "system.h"

namespace cli {

CLI::Validator amount(Least least, double highest) {
    const auto read = [least, highest](std::string& text) -> std::string {
        const std::optional<double> value = finite_number(text);
        const bool enough = value && (least == Least::zero ? *value >= 0 : *value > 0);
        if (enough && *value <= highest) return {};
        return fmt::format("{} is no number {} and at most {:g}", text.substr(0, 40),
                           least == Least::zero ? "from 0 on" : "above 0", highest);
    };
    return CLI::Validator(read, "NUMBER", "amount");
}

SizeAnswer& SizeAnswer::add(std::string key, std::optional<double> value, std::string note) {
    if (value && !std::isfinite(*value)) value = std::nullopt;
    figures_.push_back({std::move(key), value ? Json(*value) : Json(nullptr),
                        value ? fmt::format("{:.6g}", *value) : "undefined", std::move(note)});
    return *this;
}

SizeAnswer& SizeAnswer::add_count(std::string key, uint64_t value, std::string note) {
    figures_.push_back({std::move(key), value, fmt::format("{}", value), std::move(note)});
    return *this;
}

SizeAnswer& SizeAnswer::add_text(std::string key, std::string value, std::string note) {
    figures_.push_back({std::move(key), value, value, std::move(note)});
    return *this;
}

void SizeAnswer::print(bool json) const {
    if (json) {
        Json object, notes = Json::object();
        for (const Figure& figure : figures_) {
            object[figure.key] = figure.value;
            if (!figure.note.empty()) notes[figure.key] = figure.note;
        }
        if (!notes.empty()) object["notes"] = notes;
        return write_stdout(json_line(object));
    }
    std::string text;
    for (const Figure& figure : figures_) {
        std::string name = figure.key;
        for (char& c : name) c = c == '_' ? ' ' : c;
        text += fmt::format("{:<36} {:>14}{}{}\n", name, figure.text, figure.note.empty() ? "" : "  ",
                            figure.note);
    }
    write_stdout(text);
}

Command add_size(CLI::App& app) {
    CLI::App* size = app.add_subcommand("size", "What a load needs and costs, and what a machine can carry");
    size->require_subcommand(1);
    const auto commands = std::make_shared<std::vector<Command>>(std::vector<Command>{
        add_size_limit(*size), add_size_band(*size), add_size_batch(*size), add_size_e2e(*size),
        add_size_words(*size), add_size_gain(*size), add_size_cost(*size), add_size_breakeven(*size),
        add_size_roofline(*size), add_size_machine(*size), add_size_speculation(*size),
        add_size_factors(*size), add_size_users(*size)});
    return {size, [commands] {
                for (const Command& command : *commands) {
                    if (command.app->parsed()) return command.run();
                }
                throw WrongUsage("takt size needs a calculator; takt size --help lists them.");
            }};
}

}  // namespace cli
