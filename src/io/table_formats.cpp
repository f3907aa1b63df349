// The formats of tables of localizations: a row each, in the order in which a file is compared with them.
// SPDX-License-Identifier: MIT
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool has_group(const TableContent& content, const char* name) {
    return content.hdf5 >= 0 && hdf5::has(content.hdf5, name);
}

TableFormat picasso() {
    return {.name = "Picasso",
            .endings = {".hdf5", ".h5"},
            .is = [](const TableContent& content) { return has_group(content, "locs"); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_picasso(path, pixel_size_nm, warn); },
            .write = write_picasso,
            .companion = ".yaml",
            .history = [](const fs::path& path, hid_t file) { return picasso_history(path, file); }};
}

TableFormat smlm_analysis() {
    return {.name = "SMLMAnalysis",
            .endings = {".smlm.h5", "_smlm.h5", ".smlm.hdf5", "_smlm.hdf5"},
            .is = [](const TableContent& content) { return has_group(content, "emitters"); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_smlm(path, pixel_size_nm, warn); },
            .write = write_smlm,
            .left_out = left_out_of_smlm,
            .cannot_hold = "columns that SMLMData.jl does not know",
            .history = [](const fs::path& path, hid_t file) { return smlm_history(path, file); }};
}

TableFormat storm_analysis() {
    return {.name = "storm-analysis",
            .endings = {".hdf5"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && is_storm_analysis(content.hdf5); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_storm_analysis(path, pixel_size_nm, warn); }};
}

TableFormat rapidstorm() {
    return {.name = "rapidSTORM",
            .endings = {".txt"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_rapidstorm(content.path); },
            .open = open_rapidstorm};
}

TableFormat elyra() {
    return {.name = "Zeiss ELYRA",
            .endings = {".txt"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_elyra(content.path); },
            .open = open_elyra};
}

TableFormat nstorm() {
    return {.name = "Nikon N-STORM",
            .endings = {".txt"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_nstorm(content.path); },
            .open = open_nstorm};
}

TableFormat insight3() {
    return {.name = "Insight3",
            .endings = {".bin"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_insight3(content.path); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_insight3(path, pixel_size_nm, warn); }};
}

TableFormat tsf() {
    return {.name = "TSF",
            .endings = {".tsf"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_tsf(content.path); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_tsf(path, pixel_size_nm, warn); }};
}

/// Any text with a header, and so the last one.
TableFormat thunderstorm() {
    return {.name = "ThunderSTORM",
            .endings = {".csv"},
            .is = [](const TableContent& content) { return content.hdf5 < 0; },
            .open = open_csv,
            .write = [](const fs::path& path, const Localizations& like, std::size_t,
                        const Target& target) { return write_thunderstorm(path, like, target); },
            .left_out = left_out_of_thunderstorm,
            .cannot_hold =
                "errors of photons, background and widths, lpx and lpy apart from their mean, p values, settings",
            .in_one_pass = true};
}

}  // namespace

const std::vector<TableFormat>& table_formats() {
    static const std::vector<TableFormat> formats{picasso(),    smlm_analysis(), storm_analysis(),
                                                  rapidstorm(), elyra(),         nstorm(),
                                                  insight3(),   tsf(),           thunderstorm()};
    return formats;
}

}  // namespace glint
