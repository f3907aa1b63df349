// ACCeNT's maps, evaluated at the movie's exposure (github.com/ries-lab/Accent, CalibrationProcessor and
// CalibrationMap).
// SPDX-License-Identifier: MIT
#include "io/camera/maps.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

class AccentMaps : public MapSource {
  public:
    AccentMaps(fs::path folder, StoredMap offset, StoredMap variance, StoredMap gain)
        : folder_(std::move(folder)),
          offset_(std::move(offset)),
          variance_(std::move(variance)),
          gain_(std::move(gain)),
          faults_{"faults", gain_.height, gain_.width, {}, std::vector<float>(gain_.values.size())} {
        mend(gain_, [](float v) { return std::isfinite(v) && v > 0; });
        mend(variance_, [](float v) { return std::isfinite(v) && v >= 0; });
    }

    std::optional<StoredMap> find(const std::string& quantity) override {
        if (quantity == "offset") return offset_;
        if (quantity == "readvar") return variance_;
        if (quantity == "gain") return gain_;
        if (quantity == "faults") return faults_;
        return {};
    }
    /// Gain.tiff is the slope of variance over mean.
    std::optional<GainUnit> default_gain_unit() const override { return GainUnit::adu_per_e; }
    std::string where() const override { return folder_.string(); }
    std::string wanted() const override { return "offset, readvar, gain"; }

  private:
    void mend(StoredMap& map, bool (*good)(float)) {
        std::vector<float> values;
        for (const float v : map.values)
            if (good(v)) values.push_back(v);
        if (values.empty())
            throw InputError(fmt::format("{}: {} has no value that could be: calibrate with more frames",
                                         folder_.string(), map.name));
        const auto middle = float(median(std::move(values)));
        for (std::size_t k = 0; k < map.values.size(); ++k)
            if (!good(map.values[k])) {
                map.values[k] = middle;
                if (k < faults_.values.size()) faults_.values[k] = 1;  // if another size, load_camera_maps() reports it
            }
    }

    fs::path folder_;
    StoredMap offset_, variance_, gain_, faults_;
};

}  // namespace

bool is_accent_folder(const fs::path& folder) {
    std::error_code none;
    return fs::is_regular_file(folder / "Baseline.tiff", none) && fs::is_regular_file(folder / "RN_sq.tiff", none);
}

std::unique_ptr<MapSource> open_accent_folder(const fs::path& folder, std::optional<double> exposure_ms,
                                              std::vector<fs::path>& files) {
    const auto read = [&](const char* name, const char* quantity) {
        files.push_back(folder / name);
        return map_in_file(files.back(), quantity);
    };
    const auto at_exposure = [&](const char* name, const char* name_per_s, const char* quantity) {
        StoredMap map = read(name, quantity);
        std::error_code none;
        if (!fs::is_regular_file(folder / name_per_s, none)) return map;
        if (!exposure_ms)
            throw InputError(fmt::format(
                "{}: has maps that depend on the exposure, and the movie's metadata do not state it: write a "
                "camera.toml with the maps of one exposure, offset = \"Avg_30ms.tiff\", readvar = \"Var_30ms.tiff\", "
                "gain = "
                "\"Gain.tiff\", gain_unit = \"ADU/e-\"",
                folder.string()));
        const StoredMap per_s = read(name_per_s, quantity);
        if (per_s.width != map.width || per_s.height != map.height)
            throw InputError(fmt::format("{}: {} is {}x{} pixels and {} {}x{}: they must be of one calibration",
                                         folder.string(), name_per_s, per_s.width, per_s.height, name, map.width,
                                         map.height));
        for (std::size_t k = 0; k < map.values.size(); ++k)
            map.values[k] += per_s.values[k] * float(*exposure_ms / 1000);
        return map;
    };
    StoredMap offset = at_exposure("Baseline.tiff", "DC_per_sec.tiff", "offset");
    StoredMap variance = at_exposure("RN_sq.tiff", "TN_sq_per_sec.tiff", "readvar");
    return std::make_unique<AccentMaps>(folder, std::move(offset), std::move(variance), read("Gain.tiff", "gain"));
}

}  // namespace glint
