// Opens tables, and compares the size of their pixels with the one that was given.
// SPDX-License-Identifier: MIT
#include "cli/flags/table_flags.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/flags/output_flags.hpp"
#include "glint/error.hpp"

namespace glint::cli {

Paths files_of_table(const std::string& table) {
    std::filesystem::path yaml = std::filesystem::path(table).replace_extension(".yaml");
    std::error_code none;
    const bool has_yaml = lower_extension(table) != ".csv" && std::filesystem::exists(yaml, none);
    return has_yaml ? Paths{table, std::move(yaml)} : Paths{table};
}

void require_same_pixels(const std::string& file, double own_nm, double given_nm) {
    if (given_nm > 0 && std::abs(own_nm - given_nm) > 1e-6 * given_nm)
        throw OptionError(
            fmt::format("{} says that its pixels are {:g} nm: leave out --pixel-size {:g}nm, which is for tables that "
                        "do not say it",
                        file, own_nm, given_nm));
}

std::unique_ptr<LocalizationReader> open_table(const std::string& file, double pixel_size_nm, Console& console,
                                               const StopFlag& stop, std::size_t piece_bytes) {
    auto table = std::make_unique<LocalizationReader>(
        file, console.warner(),
        PieceOptions{.pixel_size_nm = pixel_size_nm, .piece_bytes = piece_bytes, .stop = &stop});
    require_same_pixels(file, table->like().pixel_size_nm, pixel_size_nm);
    return table;
}

Localizations read_columns(const std::string& file, double pixel_size_nm, Console& console,
                           std::span<const std::string_view> columns, const StopFlag& stop) {
    return with_columns(*open_table(file, pixel_size_nm, console, stop), columns);
}

}  // namespace glint::cli
