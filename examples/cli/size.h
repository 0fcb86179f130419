// What the calculators of takt size share: amounts of the command line, and an answer as text or JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options.h"
#include "report.h"

namespace cli {

// Numbers above 0 (or from 0 on) and up to `highest`, as decimals or with an exponent; anything else, NaN and
// infinity among it, is refused by value.
enum class Least { above_zero, zero };
CLI::Validator amount(Least least, double highest);
constexpr double kMostAmount = 1e18;

template <typename T>
CLI::Option* add_amount(CLI::App& app, const std::string& flags, T& target, const std::string& description,
                        Least least = Least::above_zero, double highest = kMostAmount) {
    return app.add_option(flags, target, description)->transform(amount(least, highest));
}

// Figures one below the other, each with what it means. Undefined ones are null.
class SizeAnswer {
public:
    SizeAnswer& add(std::string key, std::optional<double> value, std::string note = "");
    SizeAnswer& add_count(std::string key, uint64_t value, std::string note = "");
    SizeAnswer& add_text(std::string key, std::string value, std::string note = "");
    void print(bool json) const;

private:
    struct Figure {
        std::string key;
        Json value;
        std::string text, note;
    };
    std::vector<Figure> figures_;
};

// size_rates.cpp
Command add_size_limit(CLI::App& size);
Command add_size_band(CLI::App& size);
Command add_size_batch(CLI::App& size);
Command add_size_e2e(CLI::App& size);
Command add_size_words(CLI::App& size);
Command add_size_gain(CLI::App& size);
// size_costs.cpp
Command add_size_cost(CLI::App& size);
Command add_size_breakeven(CLI::App& size);
// size_machine.cpp
Command add_size_roofline(CLI::App& size);
Command add_size_machine(CLI::App& size);
// size_factors.cpp
Command add_size_speculation(CLI::App& size);
Command add_size_factors(CLI::App& size);
// size_users.cpp
Command add_size_users(CLI::App& size);

}  // namespace cli
