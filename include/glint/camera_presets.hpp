// Typical values of common cameras: a beginning for who has measured none.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "glint/camera.hpp"

namespace glint {

/// Typical values of a model in one of its modes. Single cameras differ by several percent. Use these as starting
/// values: calibrate_camera() and inspect() give better ones.
struct CameraPreset {
    const char* name;   ///< as commands and load_camera_preset() take it
    const char* model;  ///< with the mode
    CameraKind kind;
    float offset_adu, gain_e_per_adu, readnoise_e;
    double qe;              ///< at its wavelength, for information: glint counts photoelectrons; 0: no source
    double pixel_pitch_nm;  ///< on the chip, for information; 0: no source
    const char* source;     ///< where the values were read
};

std::span<const CameraPreset> camera_presets();

/// Returns the preset of that name. Throws OptionError, which lists all.
const CameraPreset& camera_preset(const std::string& name);

/// Returns the camera. An EMCCD has no EM gain yet: the user sets it.
Camera camera_of(const CameraPreset& preset);

/// Returns "typical of Andor Zyla, ..., not measured: `glint calibrate camera` or `glint inspect` give better values".
std::string starting_values_text(const CameraPreset& preset);

}  // namespace glint
