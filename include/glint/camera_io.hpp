// Reads and writes cameras, their maps and PSF calibrations (docs/reference/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/camera_calibration.hpp"
#include "glint/if_exists.hpp"
#include "glint/psf.hpp"

namespace glint {

/// The contents of a camera.toml, or of another file that describes a camera. Every key is optional. formats.md has
/// an example.
struct CameraFile {
    Camera camera;  ///< with its maps loaded, if the file has or names any
    bool has_offset = false, has_gain = false;
    bool has_em_register = false;  ///< it says that there is an EM gain, and not which
    bool has_corner = false;       ///< it says where on its maps a movie begins
    std::optional<double> pixel_size_nm;
    std::vector<std::filesystem::path> files;  ///< the files that were read: itself and its maps
};

/// A gain in photoelectrons per ADU from another source: `instead` of the file's, or `otherwise`, if the file has none.
/// Noise in ADU is converted to photoelectrons by the resulting gain.
struct GivenGain {
    std::optional<double> instead = {}, otherwise = {};
};

/// What the user adds to a file.
struct CameraChoice {
    std::string gain_unit = {};              ///< of a gain that the file has without its unit: "e-/ADU" or "ADU/e-"
    std::string name = {};                   ///< of the camera, in Picasso's config.yaml
    std::vector<std::string> settings = {};  ///< on which its sensitivity depends there, in any order
    std::optional<double> exposure_ms = {};  ///< of a frame, on which ACCeNT's maps depend
};

/// Reads a camera by the file's content and ending: camera.toml, maps in HDF5 or MATLAB's .mat, the folder that
/// ACCeNT leaves, or Picasso's config.yaml (formats.md).
/// Throws InputError
/// - with line and column, for bad TOML, unknown keys (naming similar ones) and values out of range,
/// - for invalid maps, and
/// - for a gain without a unit in the file or the choice.
/// Throws OptionError for a choice that is missing, wrong, or unused by this file.
CameraFile read_camera(const std::filesystem::path& path, const GivenGain& given = {}, const CameraChoice& choice = {});

/// Loads `offset` (ADU), `gain` (e-/ADU) and `readnoise` (e- rms), optionally `qe`, from a map file, HDF5 or .mat, into
/// `camera` and makes it an SCMOS camera. A `gain` whose unit attribute says ADU/e- is inverted; `readvar` (ADU^2)
/// or `variance` is accepted for `readnoise`. Throws InputError (no such dataset, different shapes, values <= 0).
void read_camera_maps(const std::filesystem::path& path, Camera& camera);

/// Writes what `glint calibrate camera` measured: camera.toml and, beside it, its maps NAME_maps.hdf5. Both appear, or
/// neither. `pixel_size_nm` 0: unknown. Throws OutputError.
void write_camera(const std::filesystem::path& path, const CameraCalibration& camera, double pixel_size_nm = 0,
                  IfExists if_exists = IfExists::replace);
/// Returns the path of the maps beside the camera.toml.
std::filesystem::path maps_of_camera(const std::filesystem::path& toml);

/// Read and write the astigmatism calibration of `glint calibrate astigmatism` (TOML): the curve of theory.md, eq.
/// 1.3. A note on its range (range_note() of glint/calibrate.hpp) becomes a comment of the file. Throw InputError
/// and OutputError.
AstigmaticCurve read_astigmatic_curve(const std::filesystem::path& path);
void write_astigmatic_curve(const std::filesystem::path& path, const AstigmaticCurve& curve,
                            IfExists if_exists = IfExists::replace, const std::string& range_note = "");

/// Reads a PSF's table of coefficients: a TOML file with a section [table], whose keys are file (a .npy file of one to four
/// dimensions beside it), pixel_size_um, z_min_um and z_max_um. Throws InputError.
std::shared_ptr<const PsfTable> read_psf_table(const std::filesystem::path& path);

}  // namespace glint
