// Combines the camera from command line, file and metadata.
// SPDX-License-Identifier: MIT
#include "cli/flags/camera_flags.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/shell_word.hpp"
#include "data/camera_of_movie.hpp"
#include "data/provenance.hpp"
#include "glint/camera_io.hpp"
#include "glint/camera_presets.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/camera/gain_unit.hpp"

namespace glint::cli {
namespace {

constexpr const char* from_command = "command line";
constexpr const char* from_metadata = "movie's metadata";

std::string source_of(const std::string& other) { return other.empty() ? from_command : other; }

/// Collects "gain 0.6 e-/ADU (command line)", and what is missing.
struct Report {
    MissingOptions& missing;
    const MovieInfo& movie;
    std::string description;  ///< what describes the camera: the file of --camera, or the preset
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
                        "--sensor-roi 512,256",
                        text));
    if (!camera.has_maps())
        throw OptionError(fmt::format(
            "`sensor_roi={}` says where on the maps of the sensor the movie begins, and this camera has none: "
            "give --camera with a camera.toml that names maps, or leave --sensor-roi out",
            text));
}

void set_offset(const CameraFlags& flags, const MovieInfo& movie, const CameraFile& file, Camera& camera,
                Report& report) {
    std::string who = report.description;
    if (flags.offset)
        camera.offset_adu = {float(*flags.offset), {}}, who = source_of(flags.offset_source);
    else if (!file.has_offset && movie.offset_adu)
        camera.offset_adu = {float(*movie.offset_adu), {}}, who = from_metadata;
    else if (!file.has_offset)
        return report.lacks("offset", "--offset 100", "counts (ADU) of a dark pixel");
    report.found("offset " + text_of(camera.offset_adu, " ADU"), who);
}

void set_gain(const CameraFlags& flags, const MovieInfo& movie, const CameraFile& file, Camera& camera,
              Report& report) {
    std::string who = report.description;
    if (flags.gain)
        camera.gain_e_per_adu = {float(*flags.gain), {}}, who = source_of(flags.gain_source);
    else if (!file.has_gain && movie.gain_e_per_adu)
        camera.gain_e_per_adu = {float(*movie.gain_e_per_adu), {}}, who = from_metadata;
    else if (!file.has_gain)
        return report.lacks("gain", "--gain 0.5",
                            "photoelectrons per ADU: like the offset, from the camera's data sheet or software");
    report.found("gain " + text_of(camera.gain_e_per_adu, " e-/ADU"), who);
}

void set_em_gain(const CameraFlags& flags, const MovieInfo& movie, const CameraFile& file, Camera& camera,
                 Report& report) {
    std::string who = report.description;
    const bool in_file = !file.has_em_register && (camera.kind == CameraKind::EMCCD || camera.em_gain != 1);
    if (flags.em_gain)
        camera.em_gain = *flags.em_gain, who = from_command;
    else if (!in_file && movie.em_gain)
        camera.em_gain = *movie.em_gain, who = from_metadata;
    else if (!in_file && (file.has_em_register || report.is_contradicted("EM gain")))
        return report.lacks("EM gain", "--em-gain 300", "as the camera's software says it; 1 where it was off");
    else if (!in_file)
        return;
    if (camera.em_gain != 1)
        camera.kind = CameraKind::EMCCD;
    else if (who != report.description && camera.kind == CameraKind::EMCCD)
        camera.kind = CameraKind::Ideal;
    report.found(fmt::format("EM gain {:g}", camera.em_gain), who);
}

void set_readnoise(const CameraFlags& flags, Camera& camera, Report& report) {
    if (flags.readnoise) camera.readnoise_e = {float(*flags.readnoise), {}};
    const bool given = flags.readnoise || camera.readnoise_e.is_map() || camera.readnoise_e.scalar > 0;
    if (!given) return;
    if (camera.kind == CameraKind::Ideal) camera.kind = CameraKind::SCMOS;
    report.found("read noise " + text_of(camera.readnoise_e, " e-"),
                 flags.readnoise ? from_command : report.description);
}

/// What --camera or --camera-preset says; nothing without them.
CameraFile described_camera(const CameraFlags& flags, const MovieInfo& movie) {
    if (!flags.camera_file.empty())
        return read_camera(flags.camera_file, {flags.gain, movie.gain_e_per_adu},
                           {flags.gain_unit, flags.camera_name, flags.camera_settings, movie.exposure_ms});
    CameraFile file;
    if (flags.preset.empty()) return file;
    const CameraPreset& preset = camera_preset(flags.preset);
    file.camera = camera_of(preset);
    file.has_offset = file.has_gain = true;
    file.has_em_register = preset.kind == CameraKind::EMCCD;
    return file;
}

/// With the gain in e-/ADU, whatever its unit on the command line. Throws OptionError for words of no use.
CameraFlags in_e_per_adu(CameraFlags flags) {
    if (!flags.camera_file.empty() && !flags.preset.empty())
        throw OptionError("`camera_preset` and --camera both describe the camera: give one of them");
    if (flags.camera_file.empty() && (!flags.camera_name.empty() || !flags.camera_settings.empty()))
        throw OptionError(fmt::format("{} is for --camera config.yaml, Picasso's",
                                      flags.camera_name.empty() ? "`camera_setting`" : "`camera_name`"));
    if (flags.gain_unit.empty()) return flags;
    const auto unit = parse_gain_unit(flags.gain_unit);
    if (!unit) throw OptionError(fmt::format("`gain_unit={}`: e-/ADU or ADU/e- is meant", flags.gain_unit));
    if (!flags.gain && flags.camera_file.empty())
        throw OptionError("`gain_unit` is for --gain and maps: give one of them too");
    const bool is_number = flags.gain && flags.gain_source.empty() && !std::isnan(*flags.gain);
    if (is_number && *unit == GainUnit::adu_per_e) flags.gain = 1 / *flags.gain;
    return flags;
}

double find_pixel_size(const CameraFlags& flags, const MovieInfo& movie, const CameraFile& file, bool needed,
                       Report& report) {
    double nm = 0;
    std::string who = report.description;
    if (!flags.pixel_size.empty())
        nm = pixel_size_nm(flags.pixel_size), who = from_command;
    else if (file.pixel_size_nm)
        nm = *file.pixel_size_nm;
    else if (movie.pixel_size_nm)
        nm = *movie.pixel_size_nm, who = from_metadata;
    if (nm > 0)
        report.found(fmt::format("pixel size {:g} nm", nm), who);
    else if (needed || report.is_contradicted("pixel size"))
        report.lacks("pixel size", "--pixel-size 100nm", "edge of a camera pixel in the sample");
    return nm;
}

void add_numbers(CLI::App& app, CameraFlags& flags, const std::string& group) {
    app.add_option("--pixel-size", flags.pixel_size, "Edge of a camera pixel in the sample, with unit: 100nm, 0.1um")
        ->group(group);
    app.add_option("--offset", flags.offset, "Counts of a dark pixel (baseline), ADU")->group(group);
    app.add_option("--gain", flags.gain, "Photoelectrons per ADU, before EM gain (not its inverse, ADU per e-)")
        ->group(group);
    app.add_option("--readnoise", flags.readnoise, "Read noise, photoelectrons rms")->group(group);
    app.add_option("--em-gain", flags.em_gain, "EM gain: makes the camera an EMCCD, with its excess noise")
        ->group(group);
}

void add_file(CLI::App& app, CameraFlags& flags, const std::string& group) {
    offer_files(
        app.add_option(
               "--camera", flags.camera_file,
               "camera.toml with these values or maps of the sensor; maps in .hdf5 or .mat; Picasso's config.yaml")
            ->group(group),
        camera_endings);
    CLI::Option* preset = app.add_option("--camera-preset", flags.preset,
                                         "Typical values of a common camera, to begin with: see docs/formats.md");
    std::vector<std::string> names;
    for (const CameraPreset& one : camera_presets()) names.push_back(one.name);
    offer_words(preset->group(group), names);
    offer_words(app.add_option("--gain-unit", flags.gain_unit,
                               "Which way up are --gain and a map that does not tell: e-/ADU or ADU/e-")
                    ->group(group),
                {"e-/ADU", "ADU/e-"});
    app.add_option("--camera-name", flags.camera_name, "Of a config.yaml with several cameras: this one")->group(group);
    app.add_option("--camera-setting", flags.camera_settings,
                   "Of that camera, where its sensitivity depends on settings: one each")
        ->group(group)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--sensor-roi", flags.sensor_roi, "X,Y: sensor pixel of the movie's first pixel, px (with maps)")
        ->group(group);
}

}  // namespace

void add_camera_flags(CLI::App& app, CameraFlags& flags) {
    const std::string group = "Camera (the command line wins over --camera, that over the movie's metadata)";
    add_numbers(app, flags, group), add_file(app, flags, group);
}

void add_known_camera_flags(CLI::App& app, CameraFlags& flags) {
    const std::string group = "Camera (what is given is not estimated)";
    add_numbers(app, flags, group), add_file(app, flags, group);
}

InspectOptions inspect_options(const CameraFlags& flags, const MovieInfo& movie) {
    InspectOptions options;
    options.offset_adu = flags.offset, options.gain_e_per_adu = flags.gain;
    options.readnoise_e = flags.readnoise.value_or(0);
    if (const auto found = movie.contradictions.find("EM gain"); found != movie.contradictions.end() && !flags.em_gain)
        throw OptionError(
            fmt::format("{}: EM gain: {}: give the one that is true of all with --em-gain", movie.name, found->second));
    options.em_gain = flags.em_gain.value_or(movie.em_gain.value_or(1));
    return options;
}

void take_camera(const CameraFacts& facts, InspectOptions& options) {
    const Camera& camera = facts.camera;
    options.readnoise_e = rms_of(camera.readnoise_e), options.em_gain = camera.em_gain;
    if (facts.has_offset) options.offset_adu = median_of(camera.offset_adu);
    if (facts.has_gain) options.gain_e_per_adu = median_of(camera.gain_e_per_adu);
    if (facts.has_offset && facts.has_gain) options.camera = camera;
}

std::string as_given(const CameraFlags& flags) {
    std::string text;
    const auto add_text = [&](const char* flag, const std::string& value) {
        if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
    };
    const auto add_number = [&](const char* flag, const std::optional<double>& value) {
        if (value) text += std::isnan(*value) ? fmt::format(" {} auto", flag) : fmt::format(" {} {}", flag, *value);
    };
    add_text("--pixel-size", flags.pixel_size);
    if (!flags.camera_file.empty()) text += " --camera " + shell_file(flags.camera_file);
    add_text("--camera-preset", flags.preset);
    add_number("--offset", flags.offset);
    add_number("--gain", flags.gain);
    add_number("--readnoise", flags.readnoise);
    add_number("--em-gain", flags.em_gain);
    add_text("--sensor-roi", flags.sensor_roi);
    add_text("--region", flags.region);
    add_text("--gain-unit", flags.gain_unit);
    add_text("--camera-name", flags.camera_name);
    for (const std::string& setting : flags.camera_settings) add_text("--camera-setting", setting);
    return text;
}

CameraFacts camera_facts(const CameraFlags& given, const MovieInfo& movie, MissingOptions& missing,
                         bool pixel_size_needed) {
    const CameraFlags flags = in_e_per_adu(given);
    const CameraFile file = described_camera(flags, movie);
    CameraFacts facts;
    if (!flags.preset.empty()) facts.starting_values = starting_values_text(camera_preset(flags.preset));
    facts.camera = file.camera, facts.files = file.files;
    facts.has_offset = flags.offset || file.has_offset || movie.offset_adu;
    facts.has_gain = flags.gain || file.has_gain || movie.gain_e_per_adu;
    Report report{
        missing, movie, flags.preset.empty() ? flags.camera_file : "starting value of preset " + flags.preset, {}};
    facts.pixel_size_nm = find_pixel_size(flags, movie, file, pixel_size_needed, report);
    set_offset(flags, movie, file, facts.camera, report);
    set_gain(flags, movie, file, facts.camera, report);
    set_em_gain(flags, movie, file, facts.camera, report);
    set_readnoise(flags, facts.camera, report);
    if (const SensorField& qe = facts.camera.relative_qe; qe.is_map() || qe.scalar != 1)
        report.found("relative QE " + text_of(qe, ""), report.description);
    facts.has_corner = !flags.sensor_roi.empty() || file.has_corner;
    if (!flags.sensor_roi.empty()) set_corner(flags.sensor_roi, facts.camera);
    if (!flags.region.empty() && facts.camera.has_maps()) {
        const PixelRegion region = parse_pixel_region(flags.region);
        if (!facts.has_corner)
            throw OptionError(fmt::format(
                "--region {} and maps of the camera: give --sensor-roi X,Y, the sensor's pixel at which whole "
                "frames begin (0,0 if the maps have their size)",
                flags.region));
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

void add_pixel_size_flag(CLI::App& app, std::string& text) {
    app.add_option("--pixel-size", text,
                   "Edge of a camera pixel in the sample, with unit, where the file does not say");
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

}  // namespace glint::cli
