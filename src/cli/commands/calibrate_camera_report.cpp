// The summary of `glint calibrate camera`, and its JSON.
// SPDX-License-Identifier: MIT
#include "cli/commands/calibrate_camera.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/median.hpp"
#include "cli/console.hpp"
#include "glint/camera_io.hpp"

namespace glint::cli {
namespace {

/// Describes a relative error, which is inversely proportional to the square root of the number of frames.
std::string frames_for_one_percent(double relative_error) {
    const double factor = std::pow(relative_error / 0.01, 2);
    return factor <= 1
               ? fmt::format("known to {:.2g} %", 100 * relative_error)
               : fmt::format("known to {:.2g} %; 1 % needs {:.3g} times as many frames", 100 * relative_error, factor);
}

std::string widened(double factor) {
    return factor > 1
               ? fmt::format("; the error of the gain is multiplied by {:.3g}, for misfits that pixels share", factor)
               : "";
}

}  // namespace

void print_calibration(const CameraCalibration& c, const CalibrationFiles& files, bool json) {
    const double offset = median(c.offset_adu.value), variance = c.sensor_readvar_adu2;
    if (json) {
        nlohmann::ordered_json levels = nlohmann::json::array();
        for (const LightLevel& level : c.levels)
            levels.push_back({{"movie", level.name},
                              {"frames", level.frames},
                              {"mean_adu", level.mean_adu},
                              {"variance_adu2", level.variance_adu2},
                              {"light_spread", level.light_spread},
                              {"drift", level.drift},
                              {"of_ramp", level.of_ramp}});
        return print_json(
            {{"output", files.camera},
             {"maps", maps_of_camera(files.camera).string()},
             {"plot", files.plot.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(files.plot)},
             {"pixel_size_nm", files.pixel_nm > 0 ? nlohmann::ordered_json(files.pixel_nm) : nlohmann::ordered_json()},
             {"width", c.width},
             {"height", c.height},
             {"dark_frames", c.dark_frames},
             {"dark_change",
              {{"lowest", c.dark_change.lowest},
               {"lowest_adu", c.dark_change.lowest_adu},
               {"highest", c.dark_change.highest},
               {"highest_adu", c.dark_change.highest_adu},
               {"share", c.dark_change.share}}},
             {"median_offset_adu", offset},
             {"median_readvar_adu2", variance},
             {"gain_e_per_adu", c.sensor_gain},
             {"gain_error", c.sensor_gain_error},
             {"error_factor", c.error_factor},
             {"em_gain", c.em_gain},
             {"pixel_gain_error", c.pixel_gain_error},
             {"gain_spread", c.gain_spread},
             {"pixels_with_own_gain", c.own_gains},
             {"chi2", c.mean_chi2},
             {"hot_pixels", c.count(PixelFault::hot)},
             {"dead_pixels", c.count(PixelFault::dead)},
             {"noisy_pixels", c.count(PixelFault::noisy)},
             {"expected_false_alarms", c.expected_false_alarms},
             {"saturated", c.saturated},
             {"warnings", files.warnings},
             {"levels", levels}});
    }
    Summary summary;
    summary.add("dark", fmt::format("{} frames of {}x{} px", with_commas(c.dark_frames), c.width, c.height))
        .add("offset", fmt::format("{:.2f} ADU (median)", offset));
    const std::string known =
        fmt::format("; known to {:.2g} % for one pixel", 100 / std::sqrt(2 * double(c.dark_frames - 1)));
    if (c.sensor_gain > 0)
        summary.add("read noise", fmt::format("{:.3f} e- rms (median){}", std::sqrt(variance) * c.sensor_gain, known));
    else
        summary.add("read noise", fmt::format("{:.3f} ADU rms (median){}; no gain: give --gain to localize",
                                              std::sqrt(variance), known));
    for (const LightLevel& level : c.levels)
        summary.add("light",
                    fmt::format("{:.1f} ADU above the offset, {} frames, varies by {:.2g} % ({})", level.mean_adu,
                                with_commas(level.frames), 100 * level.light_spread, level.name));
    if (!c.levels.empty()) {
        summary.add("gain", fmt::format("{:.5f} +- {:.5f} e-/ADU, of the sensor", c.sensor_gain, c.sensor_gain_error))
            .add("", c.em_gain > 1
                         ? fmt::format("before an EM gain of {:g}; the excess noise doubles the variance", c.em_gain)
                         : "of a camera without EM gain; for an EMCCD, give --em-gain")
            .add("", frames_for_one_percent(c.sensor_gain_error / c.sensor_gain))
            .add("a pixel's gain", frames_for_one_percent(c.pixel_gain_error))
            .add("spread of gains",
                 fmt::format("{:.2g} %; {} pixels have their own gain, the others that of the sensor",
                             100 * c.gain_spread, with_commas(c.own_gains)));
        summary.add("reduced chi2",
                    c.chi2.empty()
                        ? "unknown: at least two levels of light are needed to test the line"
                        : fmt::format("{:.3f} of the line, mean of all pixels", c.mean_chi2) + widened(c.error_factor));
    }
    summary.add("bad pixels", fmt::format("{} hot, {} dead, {} noisy; expected false alarms: {:.2g}",
                                          with_commas(c.count(PixelFault::hot)), with_commas(c.count(PixelFault::dead)),
                                          with_commas(c.count(PixelFault::noisy)), c.expected_false_alarms));
    if (files.pixel_of_metadata)
        summary.add("pixel size", fmt::format("{:g} nm, from the metadata of the dark movie", files.pixel_nm));
    if (c.saturated > 0)
        summary.add("saturated", fmt::format("{} pixels of a level are left out", with_commas(c.saturated)));
    summary
        .add("written", fmt::format("{}, {}{}", files.camera, maps_of_camera(files.camera).string(),
                                    files.plot.empty() ? "" : ", " + files.plot))
        .print();
}

}  // namespace glint::cli
