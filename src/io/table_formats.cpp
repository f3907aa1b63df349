// The formats of tables of localizations: a row each, in the order in which a file is compared with them.
// SPDX-License-Identifier: MIT
#include "io/csv/all_columns.hpp"
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

constexpr double any_pixel_nm = 100;  ///< where lengths are not looked at
template <auto open>
std::vector<std::string> history_in(const fs::path& path, hid_t) {
    return open(path, any_pixel_nm, {}, {})->about.history;
}

OpenTable open_smap(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions&) {
    return is_smap_mat5(path) ? open_smap_mat5(path, pixel_size_nm, warn) : open_smap_hdf5(path, pixel_size_nm, warn);
}

TableFormat smap() {
    return {.name = "SMAP",
            .endings = {"_sml.mat"},
            .is =
                [](const TableContent& content) {
                    return content.hdf5 >= 0 ? hdf5::has(content.hdf5, "saveloc") : is_smap_mat5(content.path);
                },
            .open = open_smap,
            .write = write_smap_mat,
            .left_out = left_out_of_smap,
            .cannot_hold = "columns whose names are none of MATLAB's or have another meaning in SMAP",
            .history = history_in<open_smap>};
}

/// The CSV reader knows its columns.
TableFormat smap_csv() {
    return {.name = "SMAP CSV",
            .endings = {".smap.csv"},
            .is =
                [](const TableContent& content) {
                    const std::string_view header = content.beginning.substr(0, content.beginning.find('\n'));
                    return header.find("xnm") != header.npos && header.find("frame") != header.npos;
                },
            .open = open_csv,
            .write = [](const fs::path& path, const Localizations& like, std::size_t,
                        const Target& target) { return write_smap_csv(path, like, target); },
            .left_out = left_out_of_smap,
            .cannot_hold = "as SMAP; settings"};
}

TableFormat all_columns() {
    return {.name = "CSV with every column",
            .endings = {".all.csv"},
            .is = [](const TableContent& content) { return begins_all_columns(content.beginning); },
            .open = open_csv,
            .write = [](const fs::path& path, const Localizations& like, std::size_t,
                        const Target& target) { return write_all_columns(path, like, target); },
            .left_out = left_out_of_all_columns,
            .cannot_hold = "columns whose names end in a unit or have line ends",
            .history = history_in<open_csv>};
}

TableFormat smlm_zip() {
    return {.name = "smlm",
            .endings = {".smlm"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_smlm_zip(content.path); },
            .open = open_smlm_zip,
            .write = write_smlm_zip,
            .left_out = left_out_of_smlm_zip,
            .cannot_hold = "columns whose names have a meaning of their own there",
            .history = history_in<open_smlm_zip>};
}

TableFormat decode() {
    return {.name = "DECODE",
            .endings = {".h5"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && is_decode(content.hdf5); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_decode(path, pixel_size_nm, warn); }};
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

TableFormat pyme() {
    return {.name = "PYME",
            .endings = {".h5r", ".hdf"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && is_pyme(content.hdf5); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_pyme(path, pixel_size_nm, warn); }};
}

TableFormat minflux() {
    return {.name = "MINFLUX",
            .endings = {".npy"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_minflux(content.path); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_minflux(path, pixel_size_nm, warn); }};
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
    static const std::vector<TableFormat> formats{
        picasso(), smlm_analysis(), smap(), decode(),  storm_analysis(), smlm_zip(), rapidstorm(),  elyra(),
        nstorm(),  insight3(),      tsf(), pyme(),  minflux(), all_columns(),    smap_csv(), thunderstorm()};
    return formats;
}

}  // namespace glint
