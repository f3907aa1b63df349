// Reads camera.toml.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/camera/maps.hpp"
#include "io/camera/toml_section.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> keys = {"kind",      "pixel_size", "offset", "gain",       "gain_unit",
                                            "readnoise", "em_gain",    "qe",     "sensor_roi", "maps"};

class CameraReader {
  public:
    CameraReader(const fs::path& path, const toml::table& table, const GivenGain& given)
        : path_(path), toml_(table, path, keys), given_(given) {}

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
            const Length length = parse_length(*text, "pixel_size");
            if (length.unit == Length::Unit::pixel) toml_.refuse("pixel_size", "must be in nm or um, as in \"100nm\"");
            out_.pixel_size_nm = to_nm(length, 0);
        } catch (const OptionError& error) {
            toml_.refuse("pixel_size", fmt::format("is wrong: {}", error.what()));
        }
    }

    void read_scalars() {
        Camera& camera = out_.camera;
        if (const auto text = toml_.text("gain_unit")) {
            gain_unit_ = parse_gain_unit(*text);
            if (!gain_unit_) toml_.refuse("gain_unit", "must be \"e-/ADU\" or \"ADU/e-\"");
        }
        if (const auto offset = toml_.number("offset", -1e6, 1e6))
            camera.offset_adu.scalar = float(*offset), out_.has_offset = true;
        if (const auto gain = toml_.number("gain", 1e-6, 1e6)) {
            camera.gain_e_per_adu.scalar = float(gain_unit_ == GainUnit::adu_per_e ? 1 / *gain : *gain);
            out_.has_gain = true;
        }
        if (gain_unit_ && !out_.has_gain && !toml_.has("maps"))
            toml_.refuse("gain_unit", "is that of gain, or of a map of it: give one of them too");
        if (given_.instead)
            camera.gain_e_per_adu.scalar = float(*given_.instead), out_.has_gain = true;
        else if (given_.otherwise && !out_.has_gain)
            camera.gain_e_per_adu.scalar = float(*given_.otherwise);
        if (const auto noise = toml_.number("readnoise", 0, 1e5)) camera.readnoise_e.scalar = float(*noise);
        if (const auto qe = toml_.number("qe", 1e-3, 1e3)) camera.relative_qe.scalar = float(*qe);
        if (const auto em_gain = toml_.number("em_gain", 1, 1e5)) camera.em_gain = *em_gain;
        if (const auto roi = toml_.integers("sensor_roi", 2, 0, 32767))
            camera.roi_x = int((*roi)[0]), camera.roi_y = int((*roi)[1]);
    }

    void read_maps() {
        const auto name = toml_.text("maps");
        if (!name) {
            if (toml_.has("sensor_roi"))
                toml_.refuse("sensor_roi", "says where on the maps the movie is: give maps too");
            return;
        }
        out_.files.push_back(path_.parent_path() / *name);
        const KnownGain known = given_.instead                      ? KnownGain::instead_of_file
                                : out_.has_gain || given_.otherwise ? KnownGain::unless_in_file
                                                                    : KnownGain::none;
        const MapsInFile maps = load_camera_maps(out_.files.back(), out_.camera, gain_unit_, known);
        for (const auto& [there, key] :
             {std::pair(maps.offset, "offset"), {maps.gain, "gain"}, {maps.readnoise, "readnoise"}, {maps.qe, "qe"}})
            if (there && toml_.has(key)) toml_.refuse(key, fmt::format("is in {} too: remove one of them", *name));
        out_.has_offset |= maps.offset;
        out_.has_gain |= maps.gain;
    }

    void choose_kind() {
        Camera& camera = out_.camera;
        const auto kind = toml_.text("kind");
        if (!kind)
            camera.kind = toml_.has("em_gain")                          ? CameraKind::EMCCD
                          : toml_.has("maps") || toml_.has("readnoise") ? CameraKind::SCMOS
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
        for (const char* key : {"readnoise", "maps"})
            if (camera.kind == CameraKind::Ideal && toml_.has(key))
                toml_.refuse(key, "does not belong to an ideal camera: kind = \"scmos\"");
    }

    fs::path path_;
    TomlSection toml_;
    std::optional<GainUnit> gain_unit_;
    GivenGain given_;
    CameraFile out_;
};

}  // namespace

CameraFile read_camera(const fs::path& path, const GivenGain& given) {
    const toml::table table = parse_toml(path);
    return CameraReader(path, table, given).read();
}

}  // namespace glint
