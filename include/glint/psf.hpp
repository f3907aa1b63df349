// Point spread function models and their parameters, in physical units (docs/explanation/theory.md, section 1).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

/// The capital letters of a name list the free parameters: X, Y, N(photons), B(ackground), S(igma), Z.
enum class PsfModel {
#define GLINT_PSF_MODEL(name) name,
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
};

/// Widths as functions of z (eq. 1.3; Huang et al., Science 319, 810 (2008)):
/// sx(z) = sx0 sqrt(1 + u^2 + Ax u^3 + Bx u^4), u = (z - gamma) / d; sy(z) with u = (z + gamma) / d.
struct AstigmaticCurve {
    double sx0_nm = 0, sy0_nm = 0;  ///< widths in focus
    double gamma_nm = 0;            ///< half the distance between the foci; may be negative
    double d_nm = 0;                ///< depth of focus
    double ax = 0, bx = 0, ay = 0, by = 0;
    double z_min_nm = -600, z_max_nm = 600;  ///< calibrated range; bounds of z in fits

    /// The window in which the widths were measured, and its pixel size. A real PSF is not a Gaussian: the width that
    /// fits it best increases with the window, so that z is correct in this window only.
    int roi_size = 0;          ///< px; 0: valid in any window; unknown_roi: not recorded
    double pixel_size_nm = 0;  ///< 0: any
    static constexpr int unknown_roi = -1;

    /// Widths at z.
    double sigma_x_nm(double z_nm) const;
    double sigma_y_nm(double z_nm) const;
};

/// The filter that finds the spots of a PSF: a pixel-integrated Gaussian (docs/explanation/theory.md, section 5).
struct MatchedFilter {
    double width_px = 1.3;  ///< its standard deviation, px; 0.3 to 8
};

/// Coefficients of a measured or computed PSF, such as those of a spline, for camera pixels of one size. Immutable, so
/// that copies of a Psf share one.
class PsfTable {
  public:
    static constexpr std::size_t most_bytes = std::size_t(64) << 20;
    using Shape = std::array<int, 4>;  ///< C order, the last index fastest; 1 where a table has fewer dimensions

    /// The camera pixels that the coefficients are for, and the range of z.
    struct Scale {
        double pixel_size_nm = 0, z_min_nm = 0, z_max_nm = 0;
        bool operator==(const Scale&) const = default;
    };

    /// Throws OptionError unless there is one finite value for each element of the shape, in at most most_bytes. The
    /// scale must be plausible: a pixel size of at least smallest_pixel_nm, and a range of z of at least
    /// least_depth_nm.
    PsfTable(const Shape& shape, std::vector<float> values, const Scale& scale);

    const Shape& shape() const { return shape_; }
    std::span<const float> values() const { return values_; }
    const Scale& scale() const { return scale_; }
    /// A hash of all of it; equal tables have equal hashes, in every process and on every machine.
    std::uint64_t hash() const { return hash_; }

  private:
    Shape shape_;
    std::vector<float> values_;
    Scale scale_;
    std::uint64_t hash_;
};

/// The smallest widths and ranges of z that are accepted. Smaller ones are likely micrometres.
constexpr double least_width_nm = 1, least_depth_nm = 10;

/// A range of z.
struct ZRange {
    double min_nm, max_nm;
};

/// A model with its parameters.
struct Psf {
    PsfModel model = PsfModel::GaussianXYNB;
    double sigma_nm = 0;         ///< width (GaussianXYNB), start value (free widths); > 0, unused with a calibration
    AstigmaticCurve curve = {};  ///< for models with a calibration
    std::vector<double> numbers =
        {};  ///< model-specific, in the order of PsfDescription::numbers; missing ones have their defaults
    std::shared_ptr<const PsfTable> table = {};  ///< for models with a table

    /// Returns a typical width for detection: sigma_nm, or the mean width at z = 0.
    double detection_sigma_nm() const;
    /// Returns the range that the calibration or the table covers. For models with a calibration only.
    ZRange z_range() const;
    /// Returns the filter of this width. `pixel_size_nm`: edge of a pixel. Throws OptionError as fit() does for a PSF
    /// without a width or calibration, and for lengths that are too small to be nanometres.
    MatchedFilter matched_filter(double pixel_size_nm) const;
};

/// A model-specific number: its name, default, and valid range.
struct PsfNumber {
    std::string_view name;
    double usual = 0, low = 0, high = 0;
    std::string_view meaning;
};

/// The description of a model.
struct PsfDescription {
    std::string_view name;                     ///< "GaussianXYNBS"
    std::string_view about;                    ///< "one free width"
    bool calibrated = false;                   ///< it comes from a calibration file, else from Psf::sigma_nm
    bool has_table = false;                    ///< of what is calibrated: from Psf::table, else from Psf::curve
    bool has_z = false;                        ///< z is fitted
    std::vector<std::string_view> parameters;  ///< names in the order of Fits' columns: "x", "y", "photons", "bg", ...
    std::vector<std::string_view> units;       ///< of each parameter: "px", "um" (z) or ""; photons and bg are in e-
    std::vector<PsfNumber> numbers;            ///< model-specific numbers
};
const PsfDescription& describe(PsfModel model);

/// All models, in the order of PsfModel.
std::span<const PsfModel> psf_models();

/// A model's name, e.g. "GaussianXYNB", and its inverse, which throws OptionError with a list of the names.
std::string_view name_of(PsfModel model);
PsfModel parse_psf_model(std::string_view name);

/// PsfDescription::parameters.
const std::vector<std::string_view>& parameter_names(PsfModel model);

/// Number of parameters: x, y, photons, bg and the shape parameters.
int parameter_count(PsfModel model);

}  // namespace glint
