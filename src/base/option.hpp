// The options that messages name, and how a front end spells them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace glint {

// clang-format off
#define GLINT_OPTIONS(option)                                                                                      \
    option(axial_radius) option(backend) option(block_frames) option(calibration) option(calibration_roi_size)  \
    option(camera) option(camera_name) option(camera_preset) option(camera_setting) option(channel)             \
    option(column) option(concat) option(depth) option(doctor_calibrate) option(doctor_guide) option(em_gain)   \
    option(emitters) option(field) option(filter_where) option(first_frame) option(follow) option(frames)       \
    option(gain) option(gain_unit) option(gpu_memory) option(gpu_timeout) option(immersion_index)               \
    option(keep_defective) option(keep_failed) option(lease_gpus) option(lease_memory) option(light)            \
    option(max_iterations) option(min_neighbors) option(na) option(neighbor_rounds) option(offset)              \
    option(overwrite) option(pixel_size) option(position) option(preview) option(psf) option(psf_channel)       \
    option(psf_misfit) option(psf_number) option(radius) option(ramp) option(raw_frames) option(readnoise)      \
    option(recipe) option(region) option(report_size) option(resume) option(roi_size) option(sample_index)      \
    option(sensor_roi) option(sigma) option(table_pixel_size) option(threads) option(threshold) option(tile)    \
    option(tolerance) option(wavelength) option(where) option(written_pixel_size) option(z) option(z_range)     \
    option(z_step) option(zernike)                                                                              \
    option(zoom)
// clang-format on

/// An option that a message of the library may advise a user to change. The message contains it in backquotes, with or
/// without a value: "a ROI of 2 pixels: give `roi_size=7`". Lengths have their unit: `pixel_size=100nm`. A front end
/// replaces the option by its own spelling: "--roi 7". tools/check_options.py rejects flags in messages, and names that
/// are not options.
#define GLINT_OPTION(name) name,
enum class Option { GLINT_OPTIONS(GLINT_OPTION) };
#undef GLINT_OPTION

#define GLINT_OPTION(name) #name,
inline constexpr std::string_view option_names[] = {GLINT_OPTIONS(GLINT_OPTION)};
#undef GLINT_OPTION

/// Returns how a front end spells an option. `value` is empty if the message contains none. If the result is empty, the
/// option stays unchanged.
using Speller = std::function<std::string(Option, std::string_view value)>;

/// Returns the message with all options in the front end's spelling.
std::string spell(std::string_view message, const Speller& speller);

/// Returns true if a table of rows with a member `option` contains each option once, in the order of Option.
template <class Row, std::size_t n>
constexpr bool spells_all(const Row (&table)[n]) {
    if (n != std::size(option_names)) return false;
    for (std::size_t k = 0; k < n; ++k)
        if (std::size_t(table[k].option) != k) return false;
    return true;
}

}  // namespace glint
