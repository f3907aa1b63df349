// Ground truth as text: frames from 0, nanometres from the first pixel's centre.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/csv/text.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/write_into.hpp"

namespace glint {

Localizations read_truth(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn,
                         const TextConventions& text) {
    return read_localizations(path, warn, pixel_size_nm, text);
}

void write_truth(const std::filesystem::path& path, const Localizations& truth, IfExists if_exists) {
    AtomicFile file(path, if_exists);
    write_truth(file, truth);
    file.commit();
}

void write_truth(AtomicFile& file, const Localizations& truth) {
    const double pixel = truth.pixel_size_nm;
    if (!(pixel > 0))
        throw OptionError(
            fmt::format("{}: truth is written in nanometres, so its pixel size must be known", file.target().string()));
    std::string text = "frame,x_nm,y_nm";
    if (!truth.z_nm.empty()) text += ",z_nm";
    if (!truth.photons.empty()) text += ",photons";
    if (!truth.sx_px.empty()) text += ",sx_nm";
    if (!truth.sy_px.empty()) text += ",sy_nm";
    for (const auto& [name, column] : truth.extra) text += "," + name;
    text += '\n';
    const auto cell = [&text](double value) {
        text += ',';
        append_number(text, float(value));
    };
    for (std::size_t row = 0; row < truth.size(); ++row) {
        append_number(text, truth.frame[row]);
        cell(truth.x_px[row] * pixel);
        cell(truth.y_px[row] * pixel);
        if (!truth.z_nm.empty()) cell(truth.z_nm[row]);
        if (!truth.photons.empty()) cell(truth.photons[row]);
        if (!truth.sx_px.empty()) cell(truth.sx_px[row] * pixel);
        if (!truth.sy_px.empty()) cell(truth.sy_px[row] * pixel);
        for (const auto& [name, column] : truth.extra) {
            text += ',';
            if (column.is_integer)
                append_number(text, whole<std::int64_t>(column.values[row]));
            else
                append_real(text, column.values[row]);
        }
        text += '\n';
    }
    file.write(text);
}

}  // namespace glint
