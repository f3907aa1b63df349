// Camera maps: units, and the rejection of impossible maps.
// SPDX-License-Identifier: MIT
#include "io/camera/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/median.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "io/hdf5/file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
std::string replaced(const std::string& text, std::string_view word, std::string_view by) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at; (at = text.find(word, from)) != std::string::npos; from = at + word.size()) {
        out.append(text, from, at - from);
        out.append(by);
    }
    return out.append(text, from);
}

/// Lower case without blanks, with the field's synonyms replaced by one symbol: # for electrons, @ for counts.
std::string canonical(std::string_view text) {
    std::string out;
    for (char c : text)
        if (c != ' ' && c != '_' && c != '-') out += char(std::tolower(static_cast<unsigned char>(c)));
    for (const char* word : {"photoelectrons", "photoelectron", "electrons", "electron", "photons", "photon"})
        out = replaced(out, word, "#");
    for (const char* word : {"adus", "adu", "counts", "count", "dn"}) out = replaced(out, word, "@");
    out = replaced(replaced(replaced(replaced(out, "per", "/"), "²", "^2"), "**2", "^2"), "rms", "");
    if (out == "e" || out.rfind("e/", 0) == 0 || out.rfind("e^", 0) == 0) out[0] = '#';
    if (out.size() > 2 && out.compare(out.size() - 2, 2, "/e") == 0) out.back() = '#';
    return out;
}

struct Map {
    std::string dataset, unit;  ///< unit in canonical form, empty if the file has none
    std::vector<float> values;
};

class MapsFile {
  public:
    explicit MapsFile(MapSource& source) : source_(source) {}

    std::optional<Map> find(const char* quantity) {
        auto stored = source_.find(quantity);
        if (!stored) return {};
        if (width_ > 0 && (stored->height != height_ || stored->width != width_))
            refuse(fmt::format("{} is {}x{} pixels, the map before it {}x{}: they must be of the same sensor",
                               stored->name, stored->width, stored->height, width_, height_));
        height_ = stored->height, width_ = stored->width;
        return Map{stored->name, stored->unit ? canonical(*stored->unit) : "", std::move(stored->values)};
    }
    int width() const { return int(width_); }
    int height() const { return int(height_); }
    const MapSource& source() const { return source_; }

    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format("{}: {}", source_.where(), why));
    }
    [[noreturn]] void refuse_unit(const Map& map, const char* understood) const {
        refuse(fmt::format("the unit of {} is not understood: use {}", map.dataset, understood));
    }

    void require(const Map& map, bool (*good)(float), const char* what) const {
        const auto bad = std::find_if_not(map.values.begin(), map.values.end(), good);
        if (bad == map.values.end()) return;
        const auto k = std::size_t(bad - map.values.begin());
        refuse(
            fmt::format("{} is {} at pixel ({}, {}) and must be {}; {} of {} pixels are wrong: mend the map (the "
                        "median of the neighbours for a dead pixel)",
                        map.dataset, *bad, k % width_, k / width_, what,
                        std::count_if(map.values.begin(), map.values.end(), [good](float v) { return !good(v); }),
                        map.values.size()));
    }

  private:
    MapSource& source_;
    std::uint64_t width_ = 0, height_ = 0;
};

bool is_finite_value(float value) { return std::isfinite(value); }
bool is_positive(float value) { return std::isfinite(value) && value > 0; }
bool is_not_negative(float value) { return std::isfinite(value) && value >= 0; }

GainUnit unit_of(const Map& gain, const StatedGainUnit& stated, const MapsFile& file) {
    if (gain.unit.empty()) {
        for (const auto& unit : {stated.unit, file.source().default_gain_unit(), stated.otherwise})
            if (unit) return *unit;
        file.refuse(
            fmt::format("{} does not state its unit (its median is {:.3g}): give \"e-/ADU\" or \"ADU/e-\" by "
                        "gain_unit in a camera.toml, or by `gain_unit`",
                        gain.dataset, median(gain.values)));
    }
    const auto told = parse_gain_unit(gain.unit);
    if (!told) file.refuse_unit(gain, "e-/ADU or ADU/e-");
    if (stated.unit && *stated.unit != *told)
        file.refuse(fmt::format("the unit attribute of {} contradicts the gain_unit that was given", gain.dataset));
    return *told;
}

void take_gain(Map gain, const StatedGainUnit& stated, const MapsFile& file, Camera& camera) {
    file.require(gain, is_positive, "greater than 0");
    if (unit_of(gain, stated, file) == GainUnit::adu_per_e)
        for (float& value : gain.values) value = 1 / value;
    camera.gain_e_per_adu.map = std::move(gain.values);
}

/// Sets the noise in e- rms from a map of the noise or of its square, in e- or ADU.
void take_noise(Map map, bool squared, bool in_adu, const MapsFile& file, bool gain_known, Camera& camera) {
    file.require(map, is_not_negative, "0 or greater");
    if (in_adu && !gain_known)
        file.refuse(fmt::format("{} is in ADU, and without a gain it cannot become photoelectrons: give the gain",
                                map.dataset));
    const SensorField& gain = camera.gain_e_per_adu;
    for (std::size_t k = 0; k < map.values.size(); ++k) {
        const float noise = squared ? std::sqrt(map.values[k]) : map.values[k];
        map.values[k] = in_adu ? noise * (gain.is_map() ? gain.map[k] : gain.scalar) : noise;
    }
    camera.readnoise_e.map = std::move(map.values);
}

bool take_any_noise(MapsFile& file, bool gain_known, Camera& camera) {
    if (auto noise = file.find("readnoise")) {
        if (!noise->unit.empty() && noise->unit != "#" && noise->unit != "@") file.refuse_unit(*noise, "e- or ADU");
        const bool in_adu = noise->unit == "@";
        take_noise(std::move(*noise), false, in_adu, file, gain_known, camera);
        return true;
    }
    if (auto variance = file.find("readvar")) {
        if (!variance->unit.empty() && variance->unit != "#^2" && variance->unit != "@^2")
            file.refuse_unit(*variance, "e-^2 or ADU^2");
        const bool in_adu = variance->unit != "#^2";
        take_noise(std::move(*variance), true, in_adu, file, gain_known, camera);
        return true;
    }
    return false;
}

}  // namespace

std::optional<GainUnit> parse_gain_unit(std::string_view text) {
    const std::string unit = canonical(text);
    if (unit == "#/@") return GainUnit::e_per_adu;
    if (unit == "@/#") return GainUnit::adu_per_e;
    return {};
}

MapsInFile load_camera_maps(MapSource& source, Camera& camera, const StatedGainUnit& stated, KnownGain known) {
    const hdf5::Quiet quiet;
    MapsFile file(source);
    MapsInFile found;
    if (auto offset = file.find("offset")) {
        file.require(*offset, is_finite_value, "a number");
        camera.offset_adu.map = std::move(offset->values);
        found.offset = true;
    }
    if (auto gain = file.find("gain")) {
        if (known != KnownGain::instead_of_file) take_gain(std::move(*gain), stated, file, camera);
        found.gain = true;
    }
    found.readnoise = take_any_noise(file, known != KnownGain::none || found.gain, camera);
    if (auto qe = file.find("qe")) {
        file.require(*qe, is_positive, "greater than 0");
        camera.relative_qe.map = std::move(qe->values);
        found.qe = true;
    }
    if (const auto faults = file.find("faults")) {
        file.require(*faults, is_not_negative, "0 for a good pixel, or greater");
        camera.masked.clear();
        for (const float fault : faults->values) camera.masked.push_back(fault != 0);
        found.faults = true;
    }
    if (!found.offset && !found.gain && !found.readnoise && !found.qe && !found.faults)
        file.refuse("has none of the maps " + source.wanted());
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = file.width(), camera.sensor_height = file.height();
    return found;
}

void read_camera_maps(const fs::path& path, Camera& camera) {
    const hdf5::Quiet quiet;
    const auto source = open_map_source(path);
    const MapsInFile found = load_camera_maps(*source, camera, {{}, GainUnit::e_per_adu}, KnownGain::none);
    for (const auto& [there, name] : {std::pair(found.offset, "offset"),
                                      {found.gain, "gain"},
                                      {found.readnoise, "readnoise (nor readvar, variance)"}})
        if (!there)
            throw InputError(fmt::format("{} has no dataset {}: give the value in a camera.toml that names the maps",
                                         path.string(), name));
}

}  // namespace glint
