// The table of localizations of a movie, in frame coordinates.
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

/// A column of a file for which Localizations has no member.
struct ExtraColumn {
    std::vector<double> values;
    bool is_integer = false;  ///< integers up to 2^53, such as `group` or `track`, which files store as integers

    bool operator==(const ExtraColumn&) const = default;
};

/// Structure of arrays; a column is either empty (unknown) or has size() values. Positions are in camera pixels, with
/// the centre of pixel (0, 0) at 0.0, x along columns and y along rows; z is in nm; frames are numbered from 0.
struct Localizations {
    std::vector<std::uint32_t> frame;
    std::vector<float> x_px, y_px;      ///< position
    std::vector<float> z_nm;            ///< axial position
    std::vector<float> photons;         ///< N, photoelectrons
    std::vector<float> bg;              ///< background, photoelectrons per pixel
    std::vector<float> sx_px, sy_px;    ///< PSF widths
    std::vector<float> lpx_px, lpy_px;  ///< localization precision: square roots of the CRLB
    std::vector<float> lpz_nm;
    std::vector<float> photons_unc, bg_unc, sx_unc_px, sy_unc_px;  ///< square roots of CRLBs
    std::vector<float> emitters;  ///< molecules fitted together, which share log_likelihood and p_value; 0: alone
    std::vector<float> detection_score;  ///< z of the detection's score test, in standard deviations
    std::vector<float> log_likelihood;   ///< log-likelihood ratio against the saturated model, <= 0
    std::vector<float> p_value;
    std::vector<std::uint32_t> iterations;
    std::vector<std::uint8_t> status;          ///< FitStatus
    std::map<std::string, ExtraColumn> extra;  ///< other columns of a file, by name

    // The movie; 0 if unknown.
    int width = 0, height = 0;  ///< px
    std::int64_t frames = 0;
    double pixel_size_nm = 0;
    /// Provenance: one YAML mapping (block style, no `---`) per processing step, oldest first.
    std::vector<std::string> history;

    /// Returns the number of rows.
    std::size_t size() const { return frame.size(); }
};

/// A float column with its name and unit in files; readers, writers and filters use this list.
struct LocalizationColumn {
    std::string_view name;  ///< Picasso's name if it has one: "x", "y", "z", "photons", "lpx", "p_value", ...
    std::string_view unit;  ///< "px", "nm", "photon", "" (unitless)
    std::vector<float> Localizations::*values;
};
/// Returns all float columns, in a constant order.
std::span<const LocalizationColumn> localization_columns();

/// Appends the rows of `more`, which must have the same non-empty columns unless `to` is empty. `to` keeps its
/// metadata. An extra column remains a column of integers only if it is one in both tables.
void append(Localizations& to, const Localizations& more);

/// Returns the rows with the indices `keep`, in that order, with the metadata.
Localizations select(const Localizations& from, std::span<const std::size_t> keep);

/// Converts fits in ROI coordinates to localizations in frame coordinates: adds the ROIs' corners and converts units.
/// For models with fixed widths, sx and sy come from the PSF.
///
/// Returns one row per fit, without those of status singular or bad_input unless `keep_failed`. Move fits that are no
/// longer needed into the call: most columns are then not copied.
Localizations to_localizations(Fits fits, const Rois& rois, const Psf& psf, double pixel_size_nm,
                               bool keep_failed = false);

}  // namespace glint
