// Reads cameras from Picasso's config.yaml, by name and by the settings on which their sensitivity depends.
// SPDX-License-Identifier: MIT
#include "io/camera/picasso_config.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/header_bytes.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t max_levels = 16;

std::vector<std::string> keys_of(const YAML::Node& map) {
    std::vector<std::string> keys;
    for (const auto& item : map)
        if (item.first.IsScalar()) keys.push_back(item.first.Scalar());
    return keys;
}

std::string quoted(const std::vector<std::string>& words) { return fmt::format("\"{}\"", fmt::join(words, "\", \"")); }

bool has(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

class PicassoCamera {
  public:
    PicassoCamera(const fs::path& path, std::string name, const YAML::Node& camera)
        : path_(path), name_(std::move(name)), camera_(camera) {}

    CameraFile read(std::vector<std::string> settings) {
        CameraFile out;
        out.files = {path_};
        if (const auto nm = number("Pixelsize", smallest_pixel_nm, largest_pixel_nm)) out.pixel_size_nm = *nm;
        if (const auto adu = number("Baseline", -1e6, 1e6))
            out.camera.offset_adu.scalar = float(*adu), out.has_offset = true;
        if (const auto em_gain = number("Gain", 1, 1e5)) out.camera.em_gain = *em_gain;
        if (out.camera.em_gain != 1) out.camera.kind = CameraKind::EMCCD;
        // If there is no "Gain", this key names the property of Micro-Manager's metadata that contains it.
        out.has_em_register = !is_there("Gain") && is_there("Gain Property Name");
        if (const YAML::Node level = chosen(settings); level) {
            out.camera.gain_e_per_adu.scalar = float(value_of(level, "Sensitivity", 1e-6, 1e6));
            out.has_gain = true;
        }
        if (!settings.empty())
            throw OptionError(
                fmt::format("`camera_setting=\"{}\"`: the sensitivity of {} in {} depends on no such setting",
                            settings[0], name_, path_.string()));
        return out;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format("{}: camera {}: {}", path_.string(), name_, why));
    }

    double value_of(const YAML::Node& node, const char* key, double low, double high) const {
        const std::string text = node.IsScalar() ? node.Scalar() : "";
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
            refuse(fmt::format("{} must be a number from {} to {}", key, low, high));
        return value;
    }
    bool is_there(const char* key) const {
        const YAML::Node node = camera_[key];
        return node && !node.IsNull();
    }
    std::optional<double> number(const char* key, double low, double high) const {
        if (!is_there(key)) return {};
        return value_of(camera_[key], key, low, high);
    }

    /// Returns the name of the setting on which a level of the sensitivity depends.
    std::string category(std::size_t level) const {
        const YAML::Node categories = camera_["Sensitivity Categories"];
        if (!categories || !categories.IsSequence() || level >= categories.size() || !categories[level].IsScalar())
            return fmt::format("setting {}", level + 1);
        return categories[level].Scalar();
    }

    /// Descends the levels of the sensitivity, and removes the settings that select a level from `settings`. Undefined
    /// if there is none.
    YAML::Node chosen(std::vector<std::string>& settings) const {
        const YAML::Node sensitivity = camera_["Sensitivity"];
        if (!sensitivity || sensitivity.IsNull()) return YAML::Node(YAML::NodeType::Undefined);
        YAML::Node level;
        level.reset(sensitivity);
        for (std::size_t depth = 0; level && level.IsMap(); ++depth) {
            const std::vector<std::string> keys = keys_of(level);
            if (keys.empty() || depth >= max_levels) refuse("Sensitivity has no number");
            const auto wanted =
                std::find_if(settings.begin(), settings.end(), [&](const std::string& one) { return has(keys, one); });
            if (wanted == settings.end() && keys.size() > 1)
                throw OptionError(
                    fmt::format("{}: the sensitivity of {} depends on {}: give `camera_setting` with one of {}",
                                path_.string(), name_, category(depth), quoted(keys)));
            const std::string key = wanted == settings.end() ? keys[0] : *wanted;
            if (wanted != settings.end()) settings.erase(wanted);
            for (const auto& item : level)
                if (item.first.IsScalar() && item.first.Scalar() == key) {
                    level.reset(item.second);
                    break;
                }
        }
        return level;
    }

    fs::path path_;
    std::string name_;
    YAML::Node camera_;
};

}  // namespace

CameraFile read_picasso_config(const fs::path& path, const CameraChoice& choice) {
    const InputFile file(path);
    if (file.size() > largest_metadata_bytes)
        throw InputError(fmt::format("{}: has {} bytes, more than {}: too many for Picasso's config.yaml",
                                     path.string(), file.size(), largest_metadata_bytes));
    try {
        const YAML::Node config = YAML::Load(bytes_at(file, 0, file.size()));
        const YAML::Node cameras = config.IsMap() ? config["Cameras"] : YAML::Node();
        const std::vector<std::string> names =
            cameras && cameras.IsMap() ? keys_of(cameras) : std::vector<std::string>();
        if (names.empty())
            throw InputError(fmt::format("{}: has no section Cameras, as Picasso's config.yaml has", path.string()));
        if (choice.name.empty() && names.size() > 1)
            throw OptionError(fmt::format("{}: has several cameras: give `camera_name` with one of {}", path.string(),
                                          quoted(names)));
        if (!choice.name.empty() && !has(names, choice.name))
            throw OptionError(fmt::format("`camera_name=\"{}\"`: {} has no such camera; there are {}", choice.name,
                                          path.string(), quoted(names)));
        const std::string name = choice.name.empty() ? names[0] : choice.name;
        for (const auto& item : cameras)
            if (item.first.IsScalar() && item.first.Scalar() == name) {
                if (!item.second.IsMap())
                    throw InputError(fmt::format("{}: camera {} has no values", path.string(), name));
                return PicassoCamera(path, name, item.second).read(choice.settings);
            }
    } catch (const YAML::Exception& error) {
        throw InputError(fmt::format("{}: is no YAML: {}", path.string(), error.what()));
    }
    throw InputError(fmt::format("{}: has no camera", path.string()));
}

}  // namespace glint
