// The Python argument for each option that a message may name.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/option.hpp"
#include "bindings.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"

namespace glint::python {
namespace {

enum class Kind {
    number,     ///< gain=0.5; a value that is no number is a text: gain="auto"
    text,       ///< backend="cpu"
    on,         ///< overwrite=True
    pair,       ///< frames=(0, 10)
    nm,         ///< a length: radius_nm=30
    attribute,  ///< of a table, a length in nm: locs.pixel_size_nm = 100
    entry,      ///< of a dict: zernike={"coma_x": 0.3}
    sigma,      ///< sigma_nm=130 or sigma_px=1.3
    words,      ///< `value` with the message's value; `name` if the message has none
};

struct Argument {
    Option option;
    std::string_view name;
    Kind kind = Kind::number;
    std::string_view value = {};  ///< of Kind::words, with {} for the value
};

constexpr Argument arguments[] = {
    {Option::axial_radius, "axial_radius_nm", Kind::nm},
    {Option::backend, "backend", Kind::text},
    {Option::block_frames, "block_frames"},
    {Option::calibration, "calibration", Kind::words, "psf=glint.load_calibration({})"},
    {Option::calibration_roi_size, "roi_size"},
    {Option::camera, "camera=", Kind::words, "camera=glint.load_camera({})"},
    {Option::camera_name, "name", Kind::words, "name={}"},
    {Option::camera_preset, "glint.camera_preset()", Kind::words, "glint.camera_preset(\"{}\")"},
    {Option::camera_setting, "settings", Kind::words, "settings=[{}]"},
    {Option::channel, "channel"},
    {Option::column, "columns"},
    {Option::concat, "as a list", Kind::words},
    {Option::depth, "depth_nm", Kind::nm},
    {Option::doctor_calibrate, "glint.gpu.diagnose(calibrate=True)", Kind::words},
    {Option::doctor_guide, "`glint doctor --guide`", Kind::words},
    {Option::em_gain, "em_gain=", Kind::words, "em_gain={}"},
    {Option::emitters, "emitters"},
    {Option::field, "field", Kind::on},
    {Option::filter_where, "glint.filter()", Kind::words, "glint.filter(locs, \"{}\")"},
    {Option::first_frame, "first_frame"},
    {Option::follow, "follow=", Kind::words},
    {Option::frames, "frames", Kind::pair},
    {Option::gain, "gain"},
    {Option::gain_unit, "gain_unit", Kind::text},
    {Option::gpu_memory, "gpu_memory"},
    {Option::gpu_timeout, "gpu_timeout"},
    {Option::immersion_index, "immersion_index"},
    {Option::keep_defective, "keep_defective", Kind::on},
    {Option::keep_failed, "keep_failed", Kind::on},
    {Option::lease_gpus, "`glint lease --gpus`", Kind::words},
    {Option::lease_memory, "`glint lease --memory`", Kind::words},
    {Option::light, "light=", Kind::words},
    {Option::max_iterations, "max_iterations"},
    {Option::min_neighbors, "min_neighbors"},
    {Option::na, "na"},
    {Option::neighbor_rounds, "neighbor_rounds"},
    {Option::offset, "offset"},
    {Option::overwrite, "overwrite", Kind::on},
    {Option::pixel_size, "pixel_size_nm", Kind::nm},
    {Option::position, "position"},
    {Option::preview, "glint.detect()", Kind::words, "glint.detect()"},
    {Option::psf, "psf", Kind::words, "psf=glint.{}"},
    {Option::psf_channel, "channel"},
    {Option::psf_misfit, "psf_misfit"},
    {Option::psf_number, "a number of the PSF", Kind::words, "{}"},
    {Option::radius, "radius_nm", Kind::nm},
    {Option::ramp, "ramp=", Kind::words},
    {Option::raw_frames, "raw_frames"},
    {Option::readnoise, "readnoise"},
    {Option::recipe, "glint run --recipe", Kind::words, "glint run --recipe {}"},
    {Option::region, "a part of the frames", Kind::words, "movie[{}]"},
    {Option::report_size, "report_size_mb"},
    {Option::resume, "resume", Kind::on},
    {Option::roi_size, "roi_size"},
    {Option::sample_index, "sample_index"},
    {Option::sensor_roi, "sensor_roi", Kind::pair},
    {Option::sigma, "sigma_nm", Kind::sigma},
    {Option::table_pixel_size, "pixel_size_nm", Kind::nm},
    {Option::threads, "threads"},
    {Option::threshold, "threshold"},
    {Option::tile, "tile_nm", Kind::nm},
    {Option::tolerance, "tolerance"},
    {Option::wavelength, "wavelength_nm", Kind::nm},
    {Option::where, "glint.filter()", Kind::words, "glint.filter(locs, \"{}\")"},
    {Option::written_pixel_size, "locs.pixel_size_nm", Kind::attribute},
    {Option::z, "z"},
    {Option::z_range, "z_range_nm", Kind::pair},
    {Option::z_step, "z_step_nm", Kind::nm},
    {Option::zernike, "zernike", Kind::entry},
    {Option::zoom, "zoom"},
};
static_assert(spells_all(arguments));

bool is_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

/// Converts "100nm" to nm and "1.3px" to px. Returns other text unchanged.
std::string length_text(std::string_view name, std::string_view value) {
    try {
        const Length length = parse_length(value, name);
        return fmt::format("{}={:.6g}", name, length.value);
    } catch (const Error&) {
        return fmt::format("{}={}", name, value);
    }
}

/// Converts "0:10" and "X,Y" to a pair. An end that is left out becomes None.
std::string pair_text(std::string_view name, std::string_view value) {
    const std::size_t sign = value.find_first_of(":,");
    if (sign == value.npos) return fmt::format("{}={}", name, value);
    const std::string_view first = value.substr(0, sign), second = value.substr(sign + 1);
    return fmt::format("{}=({}, {})", name, first.empty() ? "None" : first, second.empty() ? "None" : second);
}

std::string argument_of(Option option, std::string_view value) {
    const auto& [same, name, kind, pattern] = arguments[std::size_t(option)];
    if (kind == Kind::on) return fmt::format("{}=True", name);
    if (value.empty() || (kind == Kind::words && pattern.empty())) return std::string(name);
    if (kind == Kind::entry && value.find('=') == value.npos) return fmt::format("{}={{\"{}\": 0.3}}", name, value);
    if (kind == Kind::entry) {
        const std::size_t sign = value.find('=');
        return fmt::format("{}={{\"{}\": {}}}", name, value.substr(0, sign), value.substr(sign + 1));
    }
    if (option == Option::column) {
        const std::size_t sign = std::min(value.find('='), value.size());
        return fmt::format("{}={{\"{}\": \"{}\"}}", name, value.substr(0, sign),
                           value.substr(std::min(sign + 1, value.size())));
    }
    switch (kind) {
        case Kind::pair: return pair_text(name, value);
        case Kind::attribute: return fmt::format("{} = {}", name, length_text("", value).substr(1));
        case Kind::nm: return length_text(name, value);
        case Kind::sigma: return length_text(value.ends_with("px") ? "sigma_px" : name, value);
        case Kind::words: return fmt::format(fmt::runtime(pattern), value);
        default: return is_number(value) ? fmt::format("{}={}", name, value) : fmt::format("{}=\"{}\"", name, value);
    }
}

}  // namespace

std::string in_python(std::string_view message) { return spell(message, argument_of); }

std::vector<std::string> in_python(const std::vector<std::string>& messages) {
    std::vector<std::string> spelled;
    for (const std::string& message : messages) spelled.push_back(in_python(message));
    return spelled;
}

/// For the tests.
void bind_spelling(nb::module_& m) {
    nb::dict all;
    for (const Argument& one : arguments) all[option_names[std::size_t(one.option)].data()] = one.name.data();
    m.attr("spellings") = all;
    m.def(
        "spelled", [](const std::string& message) { return in_python(message); }, "message"_a);
}

}  // namespace glint::python
