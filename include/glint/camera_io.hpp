// The camera, its maps and the PSF calibration from and to files.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "glint/camera.hpp"
#include "glint/if_exists.hpp"
#include "glint/psf.hpp"

namespace glint {

/// What a camera.toml says; everything optional. See docs/formats.md for an example.
struct CameraFile {
    Camera camera;  ///< with maps loaded when `maps = "file.hdf5"` is given
    bool has_offset = false, has_gain = false;
    std::optional<double> pixel_size_nm;
    std::vector<std::filesystem::path> files;  ///< read for it: itself and its maps
};

/// A gain, photoelectrons per ADU, that somebody else gives: instead of the file's, or where the file has none. A noise
/// in ADU becomes photoelectrons by the gain that counts.
struct GivenGain {
    std::optional<double> instead, otherwise;
};

/// Reads camera.toml. Throws InputError with line and column for bad TOML, unknown keys (naming the near ones) and
/// values out of range.
CameraFile read_camera(const std::filesystem::path& path, const GivenGain& given = {});

/// Loads `offset` (ADU), `gain` (e-/ADU) and `readnoise` (e- rms), optionally `qe`, from an HDF5 map file into
/// `camera` and makes it an SCMOS camera. A `gain` whose unit attribute says ADU/e- is inverted; `readvar` (ADU^2)
/// or `variance` is accepted for `readnoise`. Throws InputError (no such dataset, different shapes, values <= 0).
void read_camera_maps(const std::filesystem::path& path, Camera& camera);

/// The astigmatism calibration that `glint calibrate astigmatism` writes (TOML): the curve of docs/theory.md.
AstigmaticCurve read_astigmatic_curve(const std::filesystem::path& path);
void write_astigmatic_curve(const std::filesystem::path& path, const AstigmaticCurve& curve,
                            IfExists if_exists = IfExists::replace);

}  // namespace glint
