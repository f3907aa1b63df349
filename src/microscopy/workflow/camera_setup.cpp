// Combines the camera from the user's values, a file or preset, and the movie's metadata.
// SPDX-License-Identifier: MIT
#include "workflow/camera_setup.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "data/camera_of_movie.hpp"
#include "data/provenance.hpp"
#include "glint/camera_io.hpp"
#include "glint/camera_presets.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/camera/maps.hpp"
#include "workflow/psf_setup.hpp"

namespace glint {
namespace {

constexpr const char* from_user = "given";
constexpr const char* from_metadata = "movie's metadata";

std::string source_of(const std::string& other) { return other.empty() ? from_user : other; }

/// Collects texts such as "gain 0.6 e-/ADU (given)", and the missing values.
struct Report {
    MissingOptions& missing;
    const MovieInfo& movie;
    std::string description;  ///< source of the camera's description: its file, or the preset
    std::string sources;

    void found(const std::string& what, const std::string& who) {
        sources += fmt::format("{}{} ({})", sources.empty() ? "" : ", ", what, who);
    }
    bool is_contradicted(const std::string& what) const { return movie.contradictions.contains(what); }
    void lacks(const std::string& what, const std::string& flag, std::string meaning) {
        if (const auto found = movie.contradictions.find(what); found != movie.contradictions.end())
            meaning += fmt::format("; {}: localize these apart, or give the one that is true of all", found->second);
        missing.add(what, flag, meaning);
    }
};

std::string text_of(const SensorField& field, const char* unit) {
    return field.is_map() ? "map" : fmt::format("{:g}{}", field.scalar, unit);
}

void set_corner(const std::string& text, Camera& camera) {
    const char* end = text.data() + text.size();
    const auto x = std::from_chars(text.data(), end, camera.roi_x);
    const bool comma = x.ec == std::errc() && x.ptr != end && *x.ptr == ',';
    const auto y = comma ? std::from_chars(x.ptr + 1, end, camera.roi_y) : x;
    if (!comma || y.ec != std::errc() || y.ptr != end || camera.roi_x < 0 || camera.roi_y < 0)
        throw OptionError(
            fmt::format("`sensor_roi={}`: expected X,Y, the sensor's pixel at which the movie begins, as in "
                        "`sensor_roi=512,256`",
                        text));
    if (!camera.has_maps())
        throw OptionError(fmt::format(
            "`sensor_roi={}` says where on the maps of the sensor the movie begins, and this camera has none: "
            "give `camera` with a camera.toml that names maps, or leave `sensor_roi` out",
            text));
}

void set_offset(const CameraSetup& given, const MovieInfo& movie, const CameraFile& file, Camera& camera,
                Report& report) {
    std::string who = report.description;
    if (given.offset)
        camera.offset_adu = {float(*given.offset), {}}, who = source_of(given.offset_source);
    else if (!file.has_offset && movie.offset_adu)
        camera.offset_adu = {float(*movie.offset_adu), {}}, who = from_metadata;
    else if (!file.has_offset)
        return report.lacks("offset", "`offset=100`", "counts (ADU) of a dark pixel");
    report.found("offset " + text_of(camera.offset_adu, " ADU"), who);
}

void set_gain(const CameraSetup& given, const MovieInfo& movie, const CameraFile& file, Camera& camera,
              Report& report) {
    std::string who = report.description;
    if (given.gain)
        camera.gain_e_per_adu = {float(*given.gain), {}}, who = source_of(given.gain_source);
    else if (!file.has_gain && movie.gain_e_per_adu)
        camera.gain_e_per_adu = {float(*movie.gain_e_per_adu), {}}, who = from_metadata;
    else if (!file.has_gain)
        return report.lacks("gain", "`gain=0.5`",
                            "photoelectrons per ADU: like the offset, from the camera's data sheet or software");
    report.found("gain " + text_of(camera.gain_e_per_adu, " e-/ADU"), who);
}

void set_em_gain(const CameraSetup& given, const MovieInfo& movie, const CameraFile& file, Camera& camera,
                 Report& report) {
    std::string who = report.description;
    const bool in_file = !file.has_em_register && (camera.kind == CameraKind::EMCCD || camera.em_gain != 1);
    if (given.em_gain)
        camera.em_gain = *given.em_gain, who = from_user;
    else if (!in_file && movie.em_gain)
        camera.em_gain = *movie.em_gain, who = from_metadata;
    else if (!in_file && (file.has_em_register || report.is_contradicted("EM gain")))
        return report.lacks("EM gain", "`em_gain=300`", "as the camera's software shows it; 1 if it was off");
    else if (!in_file)
        return;
    if (camera.em_gain != 1)
        camera.kind = CameraKind::EMCCD;
    else if (who != report.description && camera.kind == CameraKind::EMCCD)
        camera.kind = CameraKind::Ideal;
    report.found(fmt::format("EM gain {:g}", camera.em_gain), who);
}

void set_readnoise(const CameraSetup& given, Camera& camera, Report& report) {
    if (given.readnoise) camera.readnoise_e = {float(*given.readnoise), {}};
    const bool is_known = given.readnoise || camera.readnoise_e.is_map() || camera.readnoise_e.scalar > 0;
    if (!is_known) return;
    if (camera.kind == CameraKind::Ideal) camera.kind = CameraKind::SCMOS;
    report.found("read noise " + text_of(camera.readnoise_e, " e-"), given.readnoise ? from_user : report.description);
}

/// Returns the values of the file or the preset; empty if neither is given.
CameraFile described_camera(const CameraSetup& given, const MovieInfo& movie) {
    if (!given.camera_file.empty())
        return read_camera(given.camera_file, {given.gain, movie.gain_e_per_adu},
                           {given.gain_unit, given.camera_name, given.camera_settings, movie.exposure_ms});
    CameraFile file;
    if (given.preset.empty()) return file;
    const CameraPreset& preset = camera_preset(given.preset);
    file.camera = make_camera(preset);
    file.has_offset = file.has_gain = true;
    file.has_em_register = preset.kind == CameraKind::EMCCD;
    return file;
}

/// Returns the camera with its gain in e-/ADU, whatever unit it was given in. Throws OptionError for unknown words.
CameraSetup in_e_per_adu(CameraSetup given) {
    if (!given.camera_file.empty() && !given.preset.empty())
        throw OptionError("`camera_preset` and `camera` both describe the camera: give one of them");
    if (given.camera_file.empty() && (!given.camera_name.empty() || !given.camera_settings.empty()))
        throw OptionError(fmt::format("{} is for `camera=config.yaml`, Picasso's",
                                      given.camera_name.empty() ? "`camera_setting`" : "`camera_name`"));
    if (given.gain_unit.empty()) return given;
    const auto unit = parse_gain_unit(given.gain_unit);
    if (!unit) throw OptionError(fmt::format("`gain_unit={}`: e-/ADU or ADU/e- is meant", given.gain_unit));
    if (!given.gain && given.camera_file.empty())
        throw OptionError("`gain_unit` is for `gain` and maps: give one of them too");
    const bool is_number = given.gain && given.gain_source.empty() && !std::isnan(*given.gain);
    if (is_number && *unit == GainUnit::adu_per_e) given.gain = 1 / *given.gain;
    return given;
}

double find_pixel_size(const CameraSetup& given, const MovieInfo& movie, const CameraFile& file, bool needed,
                       const PsfSetup* psf, Report& report) {
    double nm = 0;
    std::string who = report.description;
    if (!given.pixel_size.empty())
        nm = pixel_size_nm(given.pixel_size), who = from_user;
    else if (file.pixel_size_nm)
        nm = *file.pixel_size_nm;
    else if (movie.pixel_size_nm)
        nm = *movie.pixel_size_nm, who = from_metadata;
    else if (psf && needed && !report.is_contradicted("pixel size"))
        nm = find_pixel_size_nm(*psf), who = "measured PSF " + find_file_name(*psf);
    if (nm > 0)
        report.found(fmt::format("pixel size {:g} nm", nm), who);
    else if (needed || report.is_contradicted("pixel size"))
        report.lacks("pixel size", "`pixel_size=100nm`", "edge of a camera pixel in the sample");
    return nm;
}

}  // namespace

CameraFacts camera_facts(const CameraSetup& said, const MovieInfo& movie, MissingOptions& missing,
                         bool pixel_size_needed, const PsfSetup* psf) {
    const CameraSetup given = in_e_per_adu(said);
    const CameraFile file = described_camera(given, movie);
    CameraFacts facts;
    if (!given.preset.empty()) facts.starting_values = starting_values_text(camera_preset(given.preset));
    facts.camera = file.camera, facts.files = file.files;
    facts.has_offset = given.offset || file.has_offset || movie.offset_adu;
    facts.has_gain = given.gain || file.has_gain || movie.gain_e_per_adu;
    Report report{
        missing, movie, given.preset.empty() ? given.camera_file : "starting value of preset " + given.preset, {}};
    facts.pixel_size_nm = find_pixel_size(given, movie, file, pixel_size_needed, psf, report);
    set_offset(given, movie, file, facts.camera, report);
    set_gain(given, movie, file, facts.camera, report);
    set_em_gain(given, movie, file, facts.camera, report);
    set_readnoise(given, facts.camera, report);
    if (const SensorField& qe = facts.camera.relative_qe; qe.is_map() || qe.scalar != 1)
        report.found("relative QE " + text_of(qe, ""), report.description);
    facts.has_corner = !given.sensor_roi.empty() || file.has_corner;
    if (!given.sensor_roi.empty()) set_corner(given.sensor_roi, facts.camera);
    if (!given.region.empty() && facts.camera.has_maps()) {
        const PixelRegion region = parse_pixel_region(given.region);
        if (!facts.has_corner)
            throw OptionError(fmt::format(
                "`region={}` and maps of the camera: give `sensor_roi=X,Y`, the sensor's pixel at which whole "
                "frames begin (0,0 if the maps have their size)",
                given.region));
        facts.camera.roi_x += region.x, facts.camera.roi_y += region.y;
    }
    if (!facts.has_corner) require_known_corner(facts.camera, movie);
    facts.sources = report.sources;
    return facts;
}

nlohmann::ordered_json camera_json(const CameraFacts& facts) {
    const auto value_of = [](const SensorField& field) -> nlohmann::ordered_json {
        if (!field.is_map()) return field.scalar;
        return {{"median_of_map", median_of(field)}};
    };
    const char* kinds[] = {"ideal", "sCMOS", "EMCCD"};
    const Camera& camera = facts.camera;
    nlohmann::ordered_json json{{"kind", kinds[int(camera.kind)]},
                                {"offset_adu", value_of(camera.offset_adu)},
                                {"gain_e_per_adu", value_of(camera.gain_e_per_adu)},
                                {"em_gain", camera.em_gain},
                                {"readnoise_e", value_of(camera.readnoise_e)},
                                {"relative_qe", value_of(camera.relative_qe)},
                                {"sources", facts.sources}};
    if (!facts.starting_values.empty()) json["starting_values"] = facts.starting_values;
    for (const std::filesystem::path& file : facts.files) json["files"].push_back(file.string());
    return json;
}

PixelRegion parse_pixel_region(const std::string& text) {
    int numbers[4] = {};
    const char *at = text.data(), *end = text.data() + text.size();
    bool is_region = true;
    for (int k = 0; k < 4 && is_region; ++k) {
        const auto [rest, error] = std::from_chars(at, end, numbers[k]);
        is_region = error == std::errc() && (k == 3 ? rest == end : rest != end && *rest == ',');
        at = rest + (k < 3);
    }
    if (!is_region)
        throw OptionError(
            fmt::format("`region={}`: expected X,Y,W,H in px: the first column and row, the width and the "
                        "height, as in `region=0,0,256,512`",
                        text));
    return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

double pixel_size_nm(const std::string& text) {
    if (text.empty()) return 0;
    const Length length = parse_length(text, "`pixel_size`", "100nm or 0.1um");
    if (length.unit == Length::Unit::pixel)
        throw OptionError(fmt::format("`pixel_size={}`: give it in nm or um, as in 100nm", text));
    if (length.value < smallest_pixel_nm || length.value > largest_pixel_nm)
        throw OptionError(fmt::format("`pixel_size={}`: a camera pixel in the sample is {:g} to {:g} nm wide", text,
                                      smallest_pixel_nm, largest_pixel_nm));
    return length.value;
}

}  // namespace glint
