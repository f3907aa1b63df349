// The astigmatism calibration as TOML, with every digit of its numbers.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/rois.hpp"
#include "io/camera/toml_section.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/write_into.hpp"
#include "psf/curve_in_um.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

struct Entry {
    const char* key;
    double CurveInUm::*value;
    double low, high;
    const char* comment;
};
constexpr Entry entries[] = {
    {"sx0_um", &CurveInUm::sx0_um, 1e-3, 10, "width along x at its focus"},
    {"sy0_um", &CurveInUm::sy0_um, 1e-3, 10, "width along y at its focus"},
    {"gamma_um", &CurveInUm::gamma_um, -100, 100, "x is in focus at z = gamma, y at -gamma"},
    {"d_um", &CurveInUm::d_um, 1e-3, 100, "depth of focus"},
    {"ax", &CurveInUm::ax, -1e3, 1e3, "cubic and quartic terms"},
    {"bx", &CurveInUm::bx, -1e3, 1e3, ""},
    {"ay", &CurveInUm::ay, -1e3, 1e3, ""},
    {"by", &CurveInUm::by, -1e3, 1e3, ""},
    {"z_min_um", &CurveInUm::z_min_um, -100, 100, "the range that the calibration covers"},
    {"z_max_um", &CurveInUm::z_max_um, -100, 100, ""},
};
constexpr const char *roi_key = "roi_px", *pixel_key = "pixel_size_um";  // older files have neither

std::string with_point(double value) {
    const std::string number = fmt::format("{}", value);
    return number.find_first_not_of("-0123456789") == std::string::npos ? number + ".0" : number;
}

}  // namespace

AstigmaticCurve read_astigmatic_curve(const fs::path& path) {
    const toml::table file = parse_toml(path);
    require_toml_kind(file, path, TomlKind::calibration);
    TomlSection top(file, path, {"astigmatism"});
    const toml::table* table = file["astigmatism"].as_table();
    if (!table)
        throw InputError(
            fmt::format("{} has no section [astigmatism]: it is no calibration that glint calibrate "
                        "astigmatism wrote",
                        path.string()));
    std::vector<std::string_view> keys{roi_key, pixel_key};
    for (const Entry& entry : entries) keys.push_back(entry.key);
    const TomlSection section(*table, path, keys);
    CurveInUm curve;
    for (const Entry& entry : entries) curve.*entry.value = section.required_number(entry.key, entry.low, entry.high);
    if (!(curve.z_min_um < curve.z_max_um)) section.refuse("z_max_um", "must be greater than z_min_um");
    const auto roi = section.number(roi_key, 0, max_roi_size);
    curve.roi_size = roi ? int(*roi) : AstigmaticCurve::unknown_roi;
    if (roi && (curve.roi_size != *roi || (curve.roi_size > 0 && curve.roi_size < min_roi_size)))
        section.refuse(roi_key,
                       fmt::format("is {}, no whole number from {} to {}, nor 0 (the widths hold in any window)", *roi,
                                   min_roi_size, max_roi_size));
    curve.pixel_size_um = section.number(pixel_key, 0, 100).value_or(0);
    return in_nm(curve);
}

void write_astigmatic_curve(const fs::path& path, const AstigmaticCurve& curve, IfExists if_exists,
                            const std::string& range_note) {
    AtomicFile file(path, if_exists);
    write_astigmatic_curve(file, curve, range_note);
    file.commit();
}

void write_astigmatic_curve(AtomicFile& file, const AstigmaticCurve& curve_in_nm, const std::string& range_note) {
    const CurveInUm curve = in_um(curve_in_nm);
    std::string text =
        "# Calibration of an astigmatic PSF: widths s(z) = s0 sqrt(1 + u^2 + A u^3 + B u^4),\n"
        "# u = (z - gamma) / d for x, u = (z + gamma) / d for y; micrometres.\n";
    if (!range_note.empty()) text += "# The range is smaller than the stack: " + range_note + ".\n";
    text += "[astigmatism]\n";
    for (const Entry& entry : entries) {
        text += fmt::format("{} = {}", entry.key, with_point(curve.*entry.value));
        text += *entry.comment ? fmt::format("  # {}\n", entry.comment) : "\n";
    }
    if (curve.roi_size >= 0) {
        text += fmt::format("{} = {}  # edge of the window in which the widths were measured; 0: they hold in any\n",
                            roi_key, curve.roi_size);
        text += fmt::format("{} = {}  # edge of its pixels; 0: of any\n", pixel_key, with_point(curve.pixel_size_um));
    }
    file.write(text);
}

}  // namespace glint
