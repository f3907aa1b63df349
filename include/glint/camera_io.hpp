// Reads and writes cameras, their maps and PSF calibrations (docs/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "glint/camera.hpp"
#include "glint/camera_calibration.hpp"
#include "glint/if_exists.hpp"
#include "glint/psf.hpp"

namespace glint {

/// The contents of a camera.toml; every key is optional. docs/formats.md has an example.
struct CameraFile {
    Camera camera;  ///< with its maps loaded, if `maps = "file.hdf5"` is given
    bool has_offset = false, has_gain = false;
    std::optional<double> pixel_size_nm;
    std::vector<std::filesystem::path> files;  ///< the files that were read: itself and its maps
};

/// A gain in photoelectrons per ADU from another source: `instead` of the file's, or `otherwise`, if the file has none.
/// Noise in ADU is converted to photoelectrons by the resulting gain.
struct GivenGain {
    std::optional<double> instead, otherwise;
};

/// Reads camera.toml. Throws InputError with line and column for bad TOML, unknown keys (naming similar ones) and
/// values out of range.
CameraFile read_camera(const std::filesystem::path& path, const GivenGain& given = {});

/// Loads `offset` (ADU), `gain` (e-/ADU) and `readnoise` (e- rms), optionally `qe`, from an HDF5 map file into
/// `camera` and makes it an SCMOS camera. A `gain` whose unit attribute says ADU/e- is inverted; `readvar` (ADU^2)
/// or `variance` is accepted for `readnoise`. Throws InputError (no such dataset, different shapes, values <= 0).
void read_camera_maps(const std::filesystem::path& path, Camera& camera);

/// Writes what `glint calibrate camera` measured: camera.toml and, beside it, its maps NAME_maps.hdf5. Both appear, or
/// neither. `pixel_size_nm` 0: unknown. Throws OutputError.
void write_camera(const std::filesystem::path& path, const CameraCalibration& camera, double pixel_size_nm = 0,
                  IfExists if_exists = IfExists::replace);
std::filesystem::path maps_of_camera(const std::filesystem::path& toml);

/// Reads and writes the astigmatism calibration of `glint calibrate astigmatism` (TOML): the curve of docs/theory.md,
/// eq. 1.3. Throw InputError and OutputError.
AstigmaticCurve read_astigmatic_curve(const std::filesystem::path& path);
void write_astigmatic_curve(const std::filesystem::path& path, const AstigmaticCurve& curve,
                            IfExists if_exists = IfExists::replace);

}  // namespace glint
