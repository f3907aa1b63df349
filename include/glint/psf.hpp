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

    /// Returns the width at z, nm.
    double sigma_x_nm(double z_nm) const;
    double sigma_y_nm(double z_nm) const;
};

/// The filter that finds the spots of a PSF: a pixel-integrated Gaussian (docs/explanation/theory.md, section 5).
struct MatchedFilter {
    double width_px = 1.3;  ///< standard deviation, 0.3 to 8
};

/// A regular grid of square cells over the field of view, with a table for each cell, for a PSF that changes with the
/// place. Coordinates are px of the sensor, or of the movie if the place of its frames on the sensor is not known. The
/// centre of pixel (0, 0) is at (0, 0).
struct PsfField {
    static constexpr int max_cells = 4096;  ///< in all

    int cells_x = 1, cells_y = 1;
    double left_px = 0, top_px = 0;  ///< the corner of the first cell; 0 with one cell
    double cell_px = 0;              ///< edge of a cell; 0 with one cell

    int cells() const { return cells_x * cells_y; }
    /// Returns the cell that contains a place, or the nearest one: row * cells_x + column.
    int cell_at(double x_px, double y_px) const;
    bool operator==(const PsfField&) const = default;
};

/// Coefficients of a measured or computed PSF, such as those of a spline, for camera pixels of one size. Immutable, so
/// that copies of a Psf can share a table.
class PsfTable {
  public:
    static constexpr std::size_t max_bytes = std::size_t(64) << 20;         ///< of one cell
    static constexpr std::size_t max_field_bytes = std::size_t(256) << 20;  ///< of several cells
    using Shape = std::array<int, 4>;  ///< C order, the last index fastest; 1 for missing dimensions

    static constexpr int max_samples_per_px = 2;

    /// The size of the camera pixels and the range of z for which the coefficients are valid, and the number of
    /// coefficients along the edge of a pixel. A table of one plane has no z: its range is 0 to 0.
    struct Scale {
        double pixel_size_nm = 0, z_min_nm = 0, z_max_nm = 0;
        int samples_per_px = 1;
        bool operator==(const Scale&) const = default;
    };

    /// `values`: one finite value for each element of the shape, for each cell in the order of PsfField::cell_at(), at
    /// most max_bytes and max_field_bytes. `scale`: a pixel size of at least smallest_pixel_nm, and a range of z of at
    /// least min_depth_nm, or 0 to 0 for one plane. Throws OptionError for other values.
    PsfTable(const Shape& shape, std::vector<float> values, const Scale& scale, const PsfField& field = {});

    const Shape& shape() const { return shape_; }              ///< of a cell
    std::span<const float> values() const { return values_; }  ///< of all cells
    const Scale& scale() const { return scale_; }
    const PsfField& field() const { return field_; }
    std::size_t cell_size() const { return values_.size() / std::size_t(field_.cells()); }  ///< values of a cell
    /// Returns the values of a cell.
    std::span<const float> cell(int k) const { return values().subspan(std::size_t(k) * cell_size(), cell_size()); }
    /// Returns a table of one cell.
    std::shared_ptr<const PsfTable> one_cell(int k) const;
    /// Returns the cell in the middle of the field, which stands for all where one image of the PSF is needed.
    int middle_cell() const { return field_.cells_y / 2 * field_.cells_x + field_.cells_x / 2; }
    /// Returns the standard deviation, px, of the Gaussian that finds the spots of a spline with these coefficients
    /// best, on average over z and over the cells: 0.3 to 8.
    double filter_width_px() const { return filter_width_px_; }
    /// Returns a hash of shape, values, scale and field. Equal tables have equal hashes, in all processes and on all
    /// machines.
    std::uint64_t hash() const { return hash_; }

  private:
    Shape shape_;
    std::vector<float> values_;
    Scale scale_;
    PsfField field_;
    double filter_width_px_;
    std::uint64_t hash_;
};

/// The minimum of widths and of ranges of z, nm. Smaller values are probably in micrometres, and are errors.
constexpr double min_width_nm = 1, min_depth_nm = 10;

/// A range of z.
struct ZRange {
    double min_nm, max_nm;
};

/// A model with its parameters.
struct Psf {
    PsfModel model = PsfModel::GaussianXYNB;
    double sigma_nm = 0;         ///< width (GaussianXYNB), start value (free widths); > 0, unused with a calibration
    AstigmaticCurve curve = {};  ///< for models with a calibration
    /// Model-specific numbers, in the order of PsfDescription::numbers; missing ones have their defaults.
    std::vector<double> numbers = {};
    std::shared_ptr<const PsfTable> table = {};  ///< for models with a table
    /// The place of the movie's pixel (0, 0) in the coordinates of the table's field, px. localize() sets it. If the
    /// table has several cells, the middle of a ROI, or of a group of molecules that are fitted together, chooses one.
    double field_x_px = 0, field_y_px = 0;

    /// Whether the PSF changes over the field, so that fits need the corners of their ROIs.
    bool has_field() const { return table && table->field().cells() > 1; }
    /// Returns a typical width for detection: sigma_nm, or the mean width at z = 0.
    double detection_sigma_nm() const;
    /// Returns the range of z that the calibration or the table covers. Only for models with z.
    ZRange z_range() const;
    /// Returns the filter of the width detection_sigma_nm(). `pixel_size_nm`: edge of a pixel. Throws OptionError as
    /// fit() for a PSF without a width or calibration, and for lengths that are too small to be nanometres.
    MatchedFilter matched_filter(double pixel_size_nm) const;
};

/// Returns the PSF of a measured table: SplineXYZNB, or SplineXYNB if it has one plane.
Psf measured_psf(std::shared_ptr<const PsfTable> table);

/// A model-specific number: its name, default, and valid range.
struct ModelParameter {
    std::string_view name;
    double default_value = 0, min = 0, max = 0;
    std::string_view description;
};

/// The description of a model.
struct PsfDescription {
    std::string_view name;                     ///< "GaussianXYNBS"
    std::string_view about;                    ///< "one free width"
    bool calibrated = false;                   ///< its width comes from a calibration; false: from Psf::sigma_nm
    bool has_table = false;                    ///< the calibration is Psf::table; false: Psf::curve
    bool has_z = false;                        ///< z is fitted
    std::vector<std::string_view> parameters;  ///< names in the order of Fits' columns: "x", "y", "photons", "bg", ...
    std::vector<std::string_view> units;       ///< of each parameter: "px", "um" (z) or ""; photons and bg are in e-
    std::vector<ModelParameter> numbers;       ///< model-specific numbers
};
/// Returns the description of a model. Throws OptionError if there is no such model.
const PsfDescription& describe(PsfModel model);

/// Returns all models, in the order of PsfModel.
std::span<const PsfModel> psf_models();

/// Returns a model's name, e.g. "GaussianXYNB".
std::string_view to_name(PsfModel model);
/// Returns the model of that name. Throws OptionError, with a list of the names, if there is none.
PsfModel parse_psf_model(std::string_view name);

/// Returns PsfDescription::parameters.
const std::vector<std::string_view>& parameter_names(PsfModel model);

/// Returns the number of parameters: x, y, photons, bg and the shape parameters.
int parameter_count(PsfModel model);

}  // namespace glint
