// Typical values of common cameras, as starting values for a camera that was not calibrated.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "glint/camera.hpp"

namespace glint {

/// Typical values of a model in one of its modes. Single cameras differ by several percent. Use these as starting
/// values: calibrate_camera() and inspect() give better ones.
struct CameraPreset {
    const char* name;   ///< for camera_preset() and commands
    const char* model;  ///< with the mode
    CameraKind kind;
    float offset_adu, gain_e_per_adu, readnoise_e;
    double qe;              ///< at its wavelength, for information: glint counts photoelectrons; 0: no source
    double pixel_pitch_nm;  ///< on the chip, for information; 0: no source
    const char* source;     ///< publication or data sheet of the values
};

/// Returns all presets.
std::span<const CameraPreset> camera_presets();

/// Returns the preset of that name. Throws OptionError, with a list of the names, if there is none.
const CameraPreset& camera_preset(const std::string& name);

/// Returns a camera with the values of the preset. For an EMCCD, the caller must set the EM gain.
Camera make_camera(const CameraPreset& preset);

/// Returns "typical of Andor Zyla, ..., not measured: `glint calibrate camera` or `glint inspect` give better values".
std::string starting_values_text(const CameraPreset& preset);

}  // namespace glint
