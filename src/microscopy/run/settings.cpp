// A job's settings: as text and hashes, and in a file as one line of JSON, which is also YAML.
// SPDX-License-Identifier: MIT
#include "run/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "glint/error.hpp"
#include "glint/isa.hpp"
#include "glint/localization_io.hpp"
#include "glint/version.hpp"
#include "psf/psf_text.hpp"
#include "run/table_bytes.hpp"

namespace glint {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view key = "Settings: ";

bool is_setting(const std::string& name) { return name != "glint version" && name != "instruction set"; }

const char* to_name(PixelType type) {
    return type == PixelType::uint8 ? "uint8" : type == PixelType::uint16 ? "uint16" : "float32";
}

std::string field_text(const SensorField& field) {
    if (!field.is_map()) return fmt::format("{}", field.scalar);
    return fmt::format("map {:016x}", hash_of(field.map.data(), field.map.size() * sizeof(float)));
}

/// Returns the name as the journal stores it: bytes that are not UTF-8 are replaced in both.
std::string as_utf8(const std::string& name) {
    return nlohmann::json::parse(nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string camera_text(const Camera& camera) {
    const char* kinds[] = {"ideal", "sCMOS", "EMCCD"};
    const std::string mask =
        camera.masked.empty() ? "" : fmt::format(", mask {:016x}", hash_of(camera.masked.data(), camera.masked.size()));
    return fmt::format("{}, EM gain {}, sensor corner {},{}{}", kinds[int(camera.kind)], camera.em_gain, camera.roi_x,
                       camera.roi_y, mask);
}

std::string light_text(const LocalizeJob& job) {
    if (!job.known_light) return "none";
    return fmt::format("map {:016x}", hash_of(job.known_light->data(), job.known_light->size() * sizeof(float)));
}

constexpr const char* no_end = "?";  // for a movie that is still being written

std::string count_text(std::int64_t frames) {
    return frames == unknown_frames || frames == unknown_end ? no_end : std::to_string(frames);
}

}  // namespace

std::string movie_content(Movie& movie) {
    const bool ends = movie.info().frames != unknown_frames;
    const std::int64_t samples = ends ? 16 : 1, last = ends ? movie.info().frames - 1 : 0;
    Hash hash;
    FrameBlock block;
    for (std::int64_t k = 0; k < samples; ++k) try {
            movie.read(last * k / std::max<std::int64_t>(samples - 1, 1), 1, block);
            hash.add(block.bytes.data(), block.frame_bytes());
        } catch (const InputError&) {
            hash.add("unreadable", 10);  // the run reports this frame, and keeps the frames before it
        }
    return fmt::format("{:016x}", hash.value());
}

Fingerprint fingerprint_of(Movie& movie, const Camera& camera, const LocalizeJob& job) {
    const MovieInfo& info = movie.info();
    const LocalizeOptions& options = job.options;
    const FitSettings& fit = options.fit;
    return {
        {"glint version", version()},
        {"instruction set", active_isa()},
        {"movie", as_utf8(info.name)},
        {"movie size",
         fmt::format("{}x{}, {} frames, {}", info.width, info.height, count_text(info.frames), to_name(info.type))},
        {"movie content", movie_content(movie)},
        {"movie planes", info.planes.empty() ? "all" : info.planes},
        {"frames", fmt::format("{}:{}", job.frames.begin, count_text(job.frames.end))},
        {"PSF", psf_setting(options.psf)},
        {"pixel size", fmt::format("{} nm", options.pixel_size_nm)},
        {"ROI size", fmt::format("{} px", options.roi_size)},
        {"threshold", fmt::format("{}", options.threshold)},
        {"fit options", fmt::format("{} iterations, tolerance {}, margin {} px, widths {} to {} px", fit.max_iterations,
                                    fit.tolerance, fit.position_margin_px, fit.min_sigma_px, fit.max_sigma_px)},
        {"rounds with neighbours", fmt::format("{}", options.neighbor_rounds)},
        {"emitters", options.fit.emitters == 1 ? "1" : fmt::format("auto, PSF misfit {}", options.fit.psf_misfit)},
        {"defective pixels", options.keep_defective ? "used" : "left out"},
        {"rows kept", options.keep_failed                 ? "all"
                      : describe(options.psf.model).has_z ? "converged, or z at its bound"
                                                          : "converged"},
        {"camera", camera_text(camera)},
        {"camera offset", field_text(camera.offset_adu)},
        {"camera gain", field_text(camera.gain_e_per_adu)},
        {"camera read noise", field_text(camera.readnoise_e)},
        {"camera QE", field_text(camera.relative_qe)},
        {"static background", light_text(job)},
        {"columns", TableLayout(job.like).names()},
    };
}

std::string advice_on_following(const Fingerprint& then, const Fingerprint& now) {
    const auto follows = [](const Fingerprint& fingerprint) {
        return std::any_of(fingerprint.begin(), fingerprint.end(), [](const auto& setting) {
            return setting.first == "frames" && setting.second.ends_with(no_end);
        });
    };
    if (follows(then) == follows(now)) return "";
    return follows(then) ? "it followed a movie that was being written: add `follow`"
                         : "it did not follow the movie while that was written: leave out `follow`";
}

std::string settings_text(const Fingerprint& fingerprint) {
    Json settings;
    for (const auto& [name, value] : fingerprint)
        if (is_setting(name)) settings[name] = value;
    return std::string(key) + settings.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Fingerprint> settings_of(const std::filesystem::path& file) {
    const std::vector<std::string> history = read_history(file);
    for (auto step = history.rbegin(); step != history.rend(); ++step) {
        const std::size_t begin = step->starts_with(key) ? 0 : step->find(fmt::format("\n{}", key));
        if (begin == step->npos) continue;
        const std::size_t value = step->find(key, begin) + key.size();
        const Json settings = Json::parse(step->substr(value, step->find('\n', value) - value), nullptr, false);
        if (!settings.is_object()) return {};
        Fingerprint fingerprint;
        for (const auto& [name, text] : settings.items())
            if (text.is_string()) fingerprint.emplace_back(name, text);
        return fingerprint;
    }
    return {};
}

}  // namespace glint
