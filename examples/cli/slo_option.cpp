// One table of presets serves library and command.
#include "slo_option.h"

#include <fmt/format.h>
#include <takt/takt.hpp>

#include "failure.h"

namespace cli {

Slo slo_of_preset(const std::string& name) {
    if (const std::optional<takt::Slo> slo = takt::slo_preset(name))
        return {slo->ttft_ns, slo->tpot_ns, slo->itl_ns, slo->e2e_ns};
    std::string names;
    for (std::size_t i = 0; i < takt_slo_preset_count(); ++i) {
        takt_slo_preset preset{};
        preset.struct_size = sizeof preset;
        takt::check(takt_slo_preset_get(i, &preset));
        names += (names.empty() ? "" : ", ") + std::string(preset.name);
    }
    throw WrongUsage(fmt::format("--slo: there is no {}; there are {}.", name, names));
}

}  // namespace cli
