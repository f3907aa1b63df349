// Localizations: the table of molecules found in a movie, in frame coordinates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/fits.hpp"
#include "glint/rois.hpp"

namespace glint {

/// Structure of arrays; a column is either empty (unknown) or has size() values. Positions in camera pixels, the
/// centre of pixel (0, 0) at 0.0; x along columns, y along rows; frames from 0; z in nm.
struct Localizations {
    std::vector<std::uint32_t> frame;
    std::vector<float> x_px, y_px;      ///< position
    std::vector<float> z_nm;            ///< axial position
    std::vector<float> photons;         ///< N, photoelectrons
    std::vector<float> bg;              ///< background, photoelectrons per pixel
    std::vector<float> sx_px, sy_px;    ///< PSF widths
    std::vector<float> lpx_px, lpy_px;  ///< localization precision: square root of the CRLB
    std::vector<float> lpz_nm;
    std::vector<float> photons_unc, bg_unc, sx_unc_px, sy_unc_px;  ///< square roots of CRLBs
    std::vector<float> detection_score;  ///< height of the detection peak, standard deviations
    std::vector<float> log_likelihood;   ///< LLR against the perfect model, <= 0
    std::vector<float> p_value;
    std::vector<std::uint32_t> iterations;
    std::vector<std::uint8_t> status;                  ///< FitStatus
    std::map<std::string, std::vector<double>> extra;  ///< further columns of a file that was read, by name

    // About the movie; 0 when unknown.
    int width = 0, height = 0;  ///< px
    std::int64_t frames = 0;
    double pixel_size_nm = 0;
    /// One YAML mapping (block style, no `---`) per processing step, oldest first: where this table comes from.
    std::vector<std::string> history;

    std::size_t size() const { return frame.size(); }
};

/// A float column and what the world calls it. io/ and filters work from this one table.
struct LocalizationColumn {
    std::string_view name;  ///< Picasso's name where it has one: "x", "y", "z", "photons", "lpx", "p_value", ...
    std::string_view unit;  ///< "px", "nm", "photon", "" (unitless)
    std::vector<float> Localizations::*values;
};
std::span<const LocalizationColumn> localization_columns();

/// Appends `more`'s rows (same set of non-empty columns, or `to` empty). Metadata of `to` win.
void append(Localizations& to, const Localizations& more);

/// The rows `keep` names, in that order.
Localizations select(const Localizations& from, std::span<const std::size_t> keep);

/// Fits in ROI coordinates to localizations in frame coordinates: adds the corners, converts units, drops rows
/// whose status is singular or bad_input unless `keep_failed`. Fixed widths fill sx, sy from the PSF.
Localizations to_localizations(const Fits& fits, const Rois& rois, const Psf& psf, double pixel_size_nm,
                               bool keep_failed = false);

}  // namespace glint
