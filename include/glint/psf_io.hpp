// Reads and writes measured PSFs: glint's own file, and those of SMAP, Picasso, uiPSF and storm-analysis.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glint/if_exists.hpp"
#include "glint/psf.hpp"

namespace glint {

/// Errors of z at one z, nm, from beads that were not used to measure the PSF.
struct LensError {
    double z_nm = 0;
    double z_bias_nm = 0;  ///< mean of fitted minus true z
    double z_rms_nm = 0;   ///< their standard deviation
    double crlb_nm = 0;    ///< the square root of the Cramer-Rao lower bound of z
};

/// A measured PSF and how it was measured.
struct Lens {
    /// Coefficients of SplineXYZNB, z, y, x. The light in the pixels of the table, of a molecule in the centre of a
    /// pixel at the brightest z of the grid, sums to 1, unless the table was made otherwise.
    std::shared_ptr<const PsfTable> table;
    std::string origin;                           ///< how it was made, a text for people
    std::string date;                             ///< when, ISO 8601; may be empty
    double usable_min_nm = 0, usable_max_nm = 0;  ///< range of z, nm, in which fits are good; within the table's
    std::vector<LensError> errors = {};           ///< in ascending order of z; may be empty
};

/// What a file of another program does not contain.
struct ReadLensOptions {
    double pixel_size_nm = 0;  ///< edge of a pixel in the sample; used only if the file does not state it
    int channel = 0;           ///< which PSF of a file with several, from 1; 0: the only one
};

/// Returns the measured PSF of a file, whose format its content decides:
/// - glint's own, HDF5, which write_lens() writes;
/// - SMAP's and fit3Dcspline's `*_3dcal.mat`, MATLAB versions 5 to 7.3 (Li et al., Nat. Methods 15, 367 (2018));
/// - Picasso's spline calibration, HDF5, `spline-3d` and its variants of several channels;
/// - uiPSF's result, HDF5 (Liu et al., Nat. Methods 21, 1082 (2024));
/// - storm-analysis' `.spline` (Babcock & Zhuang, Sci. Rep. 7, 552 (2017)). Python code in it is not executed.
///
/// Others' polynomials become the equal B-spline. z, nm, is the one that the file's program reports, so it may
/// decrease while the stage rises (docs/reference/formats.md). Throws InputError if the file is damaged, has several
/// PSFs and no channel is given, or contains no measured PSF; OptionError if the pixel size is not in the file and not
/// given.
Lens read_lens(const std::filesystem::path& path, const ReadLensOptions& options = {});

/// Writes glint's own file, HDF5. It appears under its name only when complete. Throws OptionError if the lens has no
/// table of SplineXYZNB; OutputError.
void write_lens(const std::filesystem::path& path, const Lens& lens, IfExists if_exists = IfExists::replace);

/// Writes `*_3dcal.mat` for SMAP, DECODE and others, MATLAB version 5. Throws as write_lens() does; OptionError also
/// for two samples a pixel, an even number of points along x or y, or more than 2 GiB of polynomials.
void write_smap_lens(const std::filesystem::path& path, const Lens& lens, IfExists if_exists = IfExists::replace);

/// Writes a spline calibration of Picasso 0.11 (`spline-3d`, HDF5). Throws as write_lens() does; OptionError also for
/// two samples a pixel, or if the table is not square along x and y.
void write_picasso_lens(const std::filesystem::path& path, const Lens& lens, IfExists if_exists = IfExists::replace);

}  // namespace glint
