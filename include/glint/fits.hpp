// The results of fits, one row per molecule, in ROI coordinates and pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// The outcome of a fit. A failed fit is not an exception: every ROI has a row, and no value is NaN or infinite.
enum class FitStatus : std::uint8_t {
    converged = 0,        ///< every parameter's last step is a small fraction of its CRLB
    iteration_limit = 1,  ///< not converged after the last iteration
    at_bound = 2,         ///< converged with a parameter at its bound: the CRLB is not valid
    singular = 3,         ///< no position: the Fisher matrix is singular, or the CRLB of x or y exceeds the ROI
    bad_input = 4,        ///< NaN or infinity among the pixels; the parameters are start values
    saturated = 5,  ///< in movies: converged, but more than half of the light is in saturated pixels, which are omitted
};
/// Returns the name of a status.
std::string_view to_name(FitStatus status);
/// Returns whether a fit with this status has a position, whether it converged or not.
constexpr bool has_position(FitStatus status) {
    return status != FitStatus::singular && status != FitStatus::bad_input;
}

constexpr int max_parameters = 12;  ///< upper limit for all models

/// Structure of arrays with n rows, one per molecule; a window (ROI) may have any number of rows. Column k is parameter
/// k of `parameter_names(model)`: x and y in px from the centre of the ROI's pixel (0, 0), photons in e-, bg in e-/px,
/// widths in px, z in micrometres. `crlb` contains standard deviations in the same units, i.e. square roots of the
/// Cramer-Rao lower bound; 0 if the status is singular or bad_input.
struct Fits {
    PsfModel model = PsfModel::GaussianXYNB;
    std::array<std::vector<float>, max_parameters> theta;  ///< columns beyond parameter_count(model) are empty
    std::array<std::vector<float>, max_parameters> crlb;
    std::vector<float> log_likelihood_ratio;  ///< against the saturated model, <= 0 (theory.md, eq. 4.1)
    std::vector<float> p_value;               ///< of -2 LLR under a correct model, also at low counts (eq. 4.2)
    std::vector<std::uint8_t> iterations;
    std::vector<FitStatus> status;
    std::vector<std::uint32_t> window;  ///< window of each row; empty: row k belongs to window k

    /// Number of molecules fitted together in the row's window; they share bg, likelihood and p value. 0: fitted alone.
    /// May be empty.
    std::vector<std::uint32_t> emitters;

    /// Returns the number of rows.
    std::size_t count() const { return status.size(); }
    /// Returns the window of a row.
    std::size_t window_index(std::size_t row) const { return window.empty() ? row : window[row]; }
    /// Resizes all columns of the model to n rows, one per window.
    void resize(PsfModel model, std::size_t n);
};

/// Returns the number of rows with the status at_bound whose z is at an end of the PSF's z range, within 0.01 nm. 0 if
/// the model has no z. z_bound_warning() reports many.
std::int64_t count_at_z_bound(const Fits& fits, const Psf& psf);

}  // namespace glint
