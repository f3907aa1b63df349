// Reads and writes cameras, their maps and PSF calibrations (docs/reference/formats.md).
//
//     const glint::CameraFile file = glint::read_camera("camera.toml");
//     const double pixel_size_nm = file.pixel_size_nm.value_or(100);
//     for (const std::string& warning : glint::camera_warnings(file.camera)) std::puts(warning.c_str());
//     const glint::Psf psf{.model = glint::PsfModel::AstigmaticXYZNB,
//                          .curve = glint::read_astigmatic_curve("astigmatism.toml")};
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
    Camera camera;  ///< with its maps, if the file contains or names any
    bool has_offset = false, has_gain = false;
    bool has_em_register = false;  ///< there is an EM gain, but the file does not contain its value
    bool has_corner = false;       ///< the file contains the position of the movie on its maps
    std::optional<double> pixel_size_nm;
    std::vector<std::filesystem::path> files;  ///< the files that were read: itself and its maps
};

/// A gain in photoelectrons per ADU from another source. `instead` replaces the file's gain; `otherwise` is used if the
/// file has none. The resulting gain converts noise in ADU to photoelectrons.
struct GivenGain {
    std::optional<double> instead = {}, otherwise = {};
};

/// Values that some files need in addition.
struct CameraChoice {
    std::string gain_unit = {};              ///< of a gain without a unit in the file: "e-/ADU" or "ADU/e-"
    std::string name = {};                   ///< of the camera, in Picasso's config.yaml
    std::vector<std::string> settings = {};  ///< for config.yaml: the camera's settings, in any order
    std::optional<double> exposure_ms = {};  ///< of a frame; for the maps of ACCeNT
};

/// Reads a camera by the file's content and ending: camera.toml, maps in HDF5 or MATLAB's .mat, the folder that ACCeNT
/// writes, or Picasso's config.yaml (formats.md).
///
/// Returns the camera and the other values of the file. Throws InputError
/// - if the file cannot be read,
/// - for invalid TOML, unknown keys and values out of range, with line, column and similar keys,
/// - for invalid maps, and
/// - for a gain without a unit in the file or in `choice`.
///
/// Throws OptionError if a choice is missing, invalid, or has no use for this file.
CameraFile read_camera(const std::filesystem::path& path, const GivenGain& given = {}, const CameraChoice& choice = {});

/// Loads `offset` (ADU), `gain` (e-/ADU), `readnoise` (e- rms) and, if present, `qe` from a map file (HDF5 or .mat)
/// into `camera`. The camera becomes an SCMOS camera. A `gain` with the unit attribute ADU/e- is inverted. `readvar`
/// (ADU^2) or `variance` may replace `readnoise`. Throws InputError if the file cannot be read, lacks a dataset, or has
/// different shapes or invalid values.
void read_camera_maps(const std::filesystem::path& path, Camera& camera);

/// Writes the result of calibrate_camera(): camera.toml and, beside it, its maps NAME_maps.hdf5. Either both files
/// appear or none. `pixel_size_nm` 0: unknown. Throws OutputError if they cannot be written.
void write_camera(const std::filesystem::path& path, const CameraCalibration& camera, double pixel_size_nm = 0,
                  IfExists if_exists = IfExists::replace);
/// Returns the path of the maps beside the camera.toml.
std::filesystem::path maps_of_camera(const std::filesystem::path& toml);

/// Returns the curve (theory.md, eq. 1.3) from a file of `glint calibrate astigmatism` (TOML). Throws InputError if the
/// file cannot be read, or a key or value is invalid.
AstigmaticCurve read_astigmatic_curve(const std::filesystem::path& path);
/// Writes the curve. `range_note`: range_note() of glint/calibrate.hpp, which becomes a comment in the file. Throws
/// OutputError if the file cannot be written.
void write_astigmatic_curve(const std::filesystem::path& path, const AstigmaticCurve& curve,
                            IfExists if_exists = IfExists::replace, const std::string& range_note = "");

/// Returns a PSF's table of coefficients from
/// - a file that read_lens() reads (glint/psf_io.hpp), or
/// - a TOML file with a section [table], whose keys are file (a .npy file of one to four dimensions beside it),
///   pixel_size_um, z_min_um, z_max_um and samples_per_px (1 if absent).
///
/// `pixel_size_nm` and `channel`: as in ReadLensOptions. Throws InputError, OptionError.
std::shared_ptr<const PsfTable> read_psf_table(const std::filesystem::path& path, double pixel_size_nm = 0,
                                               int channel = 0);

}  // namespace glint
