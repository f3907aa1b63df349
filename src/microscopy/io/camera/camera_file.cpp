// Reads cameras: camera.toml, and files of maps.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/camera/maps.hpp"
#include "io/camera/picasso_config.hpp"
#include "io/camera/toml_section.hpp"
#include "io/hdf5/file.hpp"
#include "io/mat_arrays.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> keys = {"kind",    "pixel_size", "offset", "gain",       "gain_unit", "readnoise",
                                            "readvar", "em_gain",    "qe",     "sensor_roi", "maps"};
constexpr const char* map_keys[] = {"offset", "gain", "readnoise", "readvar", "qe"};

KnownGain known_gain(const GivenGain& given, bool has_gain) {
    return given.instead                 ? KnownGain::instead_of_file
           : has_gain || given.otherwise ? KnownGain::unless_in_file
                                         : KnownGain::none;
}

/// Uses a scalar gain that the user gave instead of the file.
void take_given(const GivenGain& given, CameraFile& out) {
    if (given.instead)
        out.camera.gain_e_per_adu.scalar = float(*given.instead), out.has_gain = true;
    else if (given.otherwise && !out.has_gain)
        out.camera.gain_e_per_adu.scalar = float(*given.otherwise);
}

class CameraReader {
  public:
    CameraReader(const fs::path& path, const toml::table& table, const GivenGain& given,
                 std::optional<GainUnit> gain_unit)
        : path_(path), toml_(table, path, keys), gain_unit_(gain_unit), given_(given) {}

    CameraFile read() {
        read_pixel_size();
        read_scalars();
        out_.files = {path_};
        read_maps();
        choose_kind();
        return std::move(out_);
    }

  private:
    void read_pixel_size() {
        const auto text = toml_.text("pixel_size");
        if (!text) return;
        try {
            const Length length = parse_length(*text, "pixel_size", "100nm or 0.1um");
            if (length.unit == Length::Unit::pixel) toml_.refuse("pixel_size", "must be in nm or um, as in \"100nm\"");
            const double nm = to_nm(length, 0);
            if (nm < smallest_pixel_nm || nm > largest_pixel_nm)
                toml_.refuse("pixel_size",
                             fmt::format("is {}, outside {:g} to {:g} nm", *text, smallest_pixel_nm, largest_pixel_nm));
            out_.pixel_size_nm = nm;
        } catch (const OptionError& error) {
            toml_.refuse("pixel_size", fmt::format("is wrong: {}", error.what()));
        }
    }

    void read_scalars() {
        Camera& camera = out_.camera;
        if (const auto text = toml_.text("gain_unit")) {
            const auto unit = parse_gain_unit(*text);
            if (!unit) toml_.refuse("gain_unit", "must be \"e-/ADU\" or \"ADU/e-\"");
            if (!gain_unit_) gain_unit_ = unit;  // the unit on the command line takes precedence
        }
        if (const auto offset = scalar("offset", -1e6, 1e6))
            camera.offset_adu.scalar = float(*offset), out_.has_offset = true;
        if (const auto gain = scalar("gain", 1e-6, 1e6)) {
            camera.gain_e_per_adu.scalar = float(gain_unit_ == GainUnit::adu_per_e ? 1 / *gain : *gain);
            out_.has_gain = true;
        }
        if (toml_.has("gain_unit") && !toml_.has("gain") && !toml_.has("maps"))
            toml_.refuse("gain_unit", "is that of gain, or of a map of it: give one of them too");
        take_given(given_, out_);
        if (const auto noise = scalar("readnoise", 0, 1e5)) camera.readnoise_e.scalar = float(*noise);
        if (const auto qe = scalar("qe", 1e-3, 1e3)) camera.relative_qe.scalar = float(*qe);
        if (const auto em_gain = toml_.number("em_gain", 1, 1e5)) camera.em_gain = *em_gain;
        if (const auto roi = toml_.integers("sensor_roi", 2, 0, 32767))
            camera.roi_x = int((*roi)[0]), camera.roi_y = int((*roi)[1]), out_.has_corner = true;
    }

    /// Returns nullopt if the key names a map's file instead.
    std::optional<double> scalar(const char* key, double low, double high) const {
        if (toml_.is_text(key)) return {};
        return toml_.number(key, low, high);
    }

    /// Returns the files that keys name, with one map each.
    std::vector<std::pair<std::string, fs::path>> named_maps() const {
        std::vector<std::pair<std::string, fs::path>> files;
        for (const char* key : map_keys) {
            if (!toml_.is_text(key)) continue;
            const fs::path name = *toml_.text(key);
            if (name.extension() != ".npy" && name.extension() != ".tif" && name.extension() != ".tiff")
                toml_.refuse(key, "must be a number, or name a map's file: .npy, .tif");
            files.emplace_back(key, path_.parent_path() / name);
        }
        return files;
    }

    void read_maps() {
        const auto name = toml_.text("maps");
        const auto named = named_maps();
        if (toml_.has("readvar") && !toml_.is_text("readvar"))
            toml_.refuse("readvar", "names a map's file, ADU^2; for a number: readnoise, in e-");
        if (toml_.has("readvar") && toml_.has("readnoise"))
            toml_.refuse("readvar", "is the square of readnoise: give one of them");
        if (!name && named.empty()) {
            if (toml_.has("sensor_roi"))
                toml_.refuse("sensor_roi", "says where on the maps the movie is: give maps too");
            return;
        }
        if (name && !named.empty())
            toml_.refuse(named[0].first, "names a map, and maps does, too: give a file for all, or a file for each");
        has_maps_ = true;
        if (name)
            out_.files.push_back(path_.parent_path() / *name);
        else
            for (const auto& [key, file] : named) out_.files.push_back(file);
        const auto source = name ? open_map_source(out_.files.back()) : map_files(named);
        // HDF5 without a unit is in e-/ADU (docs/reference/formats.md).
        const bool is_hdf5 = name && mat_version(InputFile(out_.files.back())) == MatVersion::none;
        const StatedGainUnit stated{gain_unit_, is_hdf5 ? std::optional(GainUnit::e_per_adu) : std::nullopt};
        const MapsInFile maps = load_camera_maps(*source, out_.camera, stated, known_gain(given_, out_.has_gain));
        for (const auto& [there, key] :
             {std::pair(maps.offset, "offset"), {maps.gain, "gain"}, {maps.readnoise, "readnoise"}, {maps.qe, "qe"}})
            if (name && there && toml_.has(key))
                toml_.refuse(key, fmt::format("is in {} too: remove one of them", *name));
        out_.has_offset |= maps.offset;
        out_.has_gain |= maps.gain;
    }

    void choose_kind() {
        Camera& camera = out_.camera;
        const auto kind = toml_.text("kind");
        if (!kind)
            camera.kind = toml_.has("em_gain")                  ? CameraKind::EMCCD
                          : has_maps_ || toml_.has("readnoise") ? CameraKind::SCMOS
                                                                : CameraKind::Ideal;
        else if (*kind == "ideal" || *kind == "IdealCamera")
            camera.kind = CameraKind::Ideal;
        else if (*kind == "scmos" || *kind == "SCMOSCamera")
            camera.kind = CameraKind::SCMOS;
        else if (*kind == "emccd" || *kind == "EMCCDCamera")
            camera.kind = CameraKind::EMCCD;
        else
            toml_.refuse("kind", "must be \"ideal\", \"scmos\" or \"emccd\"");
        if (camera.kind != CameraKind::EMCCD && camera.em_gain != 1)
            toml_.refuse("em_gain", "belongs to kind = \"emccd\"");
        for (const char* key : {"readnoise", "readvar", "maps"})
            if (camera.kind == CameraKind::Ideal && toml_.has(key))
                toml_.refuse(key, "does not belong to an ideal camera: kind = \"scmos\"");
    }

    fs::path path_;
    TomlSection toml_;
    std::optional<GainUnit> gain_unit_;
    GivenGain given_;
    bool has_maps_ = false;
    CameraFile out_;
};

/// Reads a file of maps, or a folder written by ACCeNT.
CameraFile read_maps_alone(const fs::path& path, const GivenGain& given, std::optional<GainUnit> gain_unit,
                           std::optional<double> exposure_ms) {
    CameraFile out;
    take_given(given, out);
    const bool is_folder = is_accent_folder(path);
    if (!is_folder) out.files = {path};
    const auto source = is_folder ? open_accent_folder(path, exposure_ms, out.files) : open_map_source(path);
    const MapsInFile maps = load_camera_maps(*source, out.camera, {gain_unit, {}}, known_gain(given, false));
    out.has_offset = maps.offset;
    out.has_gain |= maps.gain;
    return out;
}

enum class CameraFileKind { toml, maps, picasso };
CameraFileKind kind_of(const fs::path& path) {
    const bool is_yaml = path.extension() == ".yaml" || path.extension() == ".yml";
    std::error_code none;
    if (is_accent_folder(path)) return CameraFileKind::maps;
    if (fs::is_directory(path, none))
        throw InputError(fmt::format(
            "{}: is not a file, and no folder of ACCeNT's, which has Baseline.tiff and RN_sq.tiff", path.string()));
    if (!fs::is_regular_file(path, none) || fs::file_size(path, none) == 0)
        return is_yaml ? CameraFileKind::picasso : CameraFileKind::toml;
    const InputFile file(path);
    if (begins_with(file, "\x89HDF\r\n\x1a\n") || mat_version(file) != MatVersion::none) return CameraFileKind::maps;
    refuse_mat4(file);
    if (begins_with(file, "\x93NUMPY") || begins_like_tiff(file))
        throw InputError(
            fmt::format("{}: is one map, and does not say of what: name it in a camera.toml, as in offset = \"{}\"",
                        path.string(), path.filename().string()));
    return is_yaml ? CameraFileKind::picasso : CameraFileKind::toml;
}

}  // namespace

CameraFile read_camera(const fs::path& path, const GivenGain& given, const CameraChoice& choice) {
    const auto gain_unit = parse_gain_unit(choice.gain_unit);
    if (!choice.gain_unit.empty() && !gain_unit)
        throw OptionError(fmt::format("`gain_unit={}`: e-/ADU or ADU/e- is meant", choice.gain_unit));
    const CameraFileKind kind = kind_of(path);
    if (kind == CameraFileKind::picasso) {
        if (!choice.gain_unit.empty() && !given.instead)
            throw OptionError(
                fmt::format("`gain_unit={}`: Picasso's sensitivity is in e-/ADU: leave it out", choice.gain_unit));
        CameraFile out = read_picasso_config(path, choice);
        take_given(given, out);
        return out;
    }
    if (!choice.name.empty() || !choice.settings.empty())
        throw OptionError(fmt::format("{} is for Picasso's config.yaml, and {} is none",
                                      choice.name.empty() ? "`camera_setting`" : "`camera_name`", path.string()));
    const hdf5::Quiet quiet;
    if (kind == CameraFileKind::maps) return read_maps_alone(path, given, gain_unit, choice.exposure_ms);
    const toml::table table = parse_toml(path);
    require_toml_kind(table, path, TomlKind::camera);
    return CameraReader(path, table, given, gain_unit).read();
}

}  // namespace glint
