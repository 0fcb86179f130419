// Money for tokens and for machines, in US dollars.
#pragma once

#include <optional>
#include <span>

namespace cli {

double cost_per_million(double usd_per_hour, double tokens_per_second);
// The price at which a rate costs so much.
double usd_per_hour(double cost_per_million, double tokens_per_second);

struct PriceRange {
    double low = 0, high = 0;  // of an hour; high itself would round up
};
// Prices whose cost per million is rounded to this one, stated to the cent.
PriceRange prices_behind(double rounded_cost_per_million, double tokens_per_second);
// The prices that all of them allow; nothing if there is none.
std::optional<PriceRange> common_prices(std::span<const PriceRange> ranges);

// Hours after which buying was cheaper than renting; nothing where running one's own costs as much as rent.
std::optional<double> breakeven_hours(double purchase_price, double rent_per_hour,
                                      double own_running_cost_per_hour);

}  // namespace cli
