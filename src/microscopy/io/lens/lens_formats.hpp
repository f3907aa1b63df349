// The formats of measured PSFs: a reader each, and what they share.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "glint/psf_io.hpp"
#include "io/hdf5/file.hpp"
#include "io/lens/polynomials.hpp"

namespace glint {

// Readers. The HDF5 file is open, and is of the format. They throw as read_lens() does.
Lens read_own_lens(hid_t file, const std::filesystem::path& path);
Lens read_picasso_lens(hid_t file, const std::filesystem::path& path, const ReadLensOptions& options);
Lens read_uipsf_lens(hid_t file, const std::filesystem::path& path, const ReadLensOptions& options);
Lens read_smap_mat73_lens(hid_t file, const std::filesystem::path& path, const ReadLensOptions& options);
Lens read_smap_mat5_lens(const std::filesystem::path& path, const ReadLensOptions& options);
Lens read_storm_analysis_lens(const std::filesystem::path& path);

// Whether an open HDF5 file is of the format.
bool is_own_lens(hid_t file);
bool is_picasso_lens(hid_t file);
bool is_uipsf_lens(hid_t file);
bool is_smap_mat73_lens(hid_t file);

/// Where the points of a grid lie.
struct LensGrid {
    double pixel_size_nm = 0;
    double first_z_nm = 0, z_step_nm = 0;  ///< of the points along z in the order of the file; a step may be negative
    bool is_mirrored = false;              ///< along x
};

/// Returns the lens of a file's polynomials: a spline with the light of its brightest plane as the unit. Throws
/// InputError.
Lens make_lens(const std::filesystem::path& path, const CellPolynomials& polynomials, const LensGrid& grid,
               const std::string& origin);

/// Returns which of a file's PSFs is meant, from 0. Throws InputError if this is not clear, or there is none.
std::size_t choose_channel(const std::filesystem::path& path, std::size_t channels, const ReadLensOptions& options);

/// Throws InputError unless an array of polynomials has one cell or more along each axis, and is not too large.
void check_cells(const std::filesystem::path& path, const Index3& cells);

/// Returns what makes a lens implausible, so that photons or z would be wrong: "its z range ... is ..., the limits are
/// ...". Empty if nothing does. `is_own`: glint wrote it, with a square grid.
std::string find_lens_fault(const Lens& lens, bool is_own);
/// Throws InputError if there is such a fault.
void check_lens(const std::filesystem::path& path, const Lens& lens, bool is_own);

/// The formats that read_lens() reads, for messages.
inline constexpr const char* known_lenses =
    "glint's own (.h5 of `glint calibrate psf`), SMAP's *_3dcal.mat, a Picasso spline calibration (.hdf5), uiPSF's "
    "result (.h5) and storm-analysis' .spline";

/// Throws OptionError unless a writer can write the lens: it has a table of SplineXYZNB. `path`: for messages.
void require_spline(const std::filesystem::path& path, const Lens& lens);
/// The same for polynomials, which have one sample a pixel.
void require_pixel_samples(const std::filesystem::path& path, const Lens& lens);

/// Returns a table's polynomials with z falling from cell to cell, as other programs have them. Throws OptionError if
/// they are more than 2 GiB.
CellPolynomials to_reversed_polynomials(const std::filesystem::path& path, const PsfTable& table);

/// One PSF of a file of SMAP, without its coefficients.
struct SmapLensFacts {
    double z_step_nm = 0;
    double z0 = 0;             ///< the point, from 0, where SMAP's fits report z = 0
    double pixel_size_um = 0;  ///< 0: not in the file
    bool is_mirrored = false;  ///< measured with an EM gain: SMAP mirrors the frames of such cameras along x
};

/// Returns the lens of the polynomials of SMAP and uiPSF: MATLAB's dimensions with the powers along the first axis
/// fastest. `shape`: cells along MATLAB's first, second and third axis.
CellPolynomials matlab_polynomials(const std::array<std::uint64_t, 3>& shape, std::vector<float> values);
/// Throws InputError, OptionError.
Lens make_smap_lens(const std::filesystem::path& path, CellPolynomials polynomials, const SmapLensFacts& facts,
                    const ReadLensOptions& options);

}  // namespace glint
