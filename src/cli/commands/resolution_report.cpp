// What `glint resolution` prints.
// SPDX-License-Identifier: MIT
#include "cli/commands/resolution_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/console.hpp"
#include "workflow/resolution_json.hpp"

namespace glint::cli {
namespace {

std::string text(const Measured& figure) {
    return std::isnan(figure.nm) ? "-" : fmt::format("{:.2f} +- {:.2f} nm", figure.nm, figure.error_nm);
}

}  // namespace

void print_resolution(const Localizations& table, const Resolution& result) {
    const Nena& nena = result.nena;
    Summary summary;
    summary.add("localizations", with_commas(std::int64_t(table.size())))
        .add("NeNA", fmt::format("{} (rms {}; of one precision for all {})", text(nena.precision), text(nena.rms),
                                 text(nena.single)))
        .add("stated", std::isnan(nena.stated_nm) ? "-"
                                                  : fmt::format("{:.2f} nm, of the same {} pairs", nena.stated_nm,
                                                                with_commas(std::int64_t(nena.pairs))));
    for (const Nena& later : result.later)
        summary.add(fmt::format("NeNA, {} frames", later.lag), text(later.precision));
    summary.add("FRC", fmt::format("{} ({} splits of {} {})", text(result.frc.resolution), result.frc.splits,
                                   with_commas(std::int64_t(result.frc.units)),
                                   result.frc.link_radius_nm > 0 ? "blinks" : "blocks"));
    if (const auto place = precision_by_place(result))
        summary.add("by place", fmt::format("{:.2f}, {:.2f}, {:.2f} nm in {} of {} tiles of {:g} um, each +- {:.2f}",
                                            place->nm[0], place->nm[1], place->nm[2], place->tiles, place->all,
                                            result.precision_nm.pixel_size_nm / 1000, place->typical_error_nm));
    summary.print();
}

}  // namespace glint::cli
