// The results of fitting, a row for each molecule, in ROI coordinates and pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "glint/psf.hpp"

namespace glint {

/// What became of a fit. Failure is data: every ROI has a row, no fit throws, no value is NaN or infinite.
enum class FitStatus : std::uint8_t {
    converged = 0,        ///< every step is a small fraction of its own CRLB
    iteration_limit = 1,  ///< still moving at the last iteration
    at_bound = 2,         ///< stopped with a parameter at its bound: the CRLB does not hold
    singular = 3,   ///< no position: the Fisher matrix cannot be inverted, or x or y is uncertain by more than the ROI
    bad_input = 4,  ///< NaN or infinity among the pixels; parameters are the start values
};
std::string_view name_of(FitStatus status);

constexpr int max_parameters = 12;  ///< more than any model has

/// Structure of arrays with n rows, each of a molecule in a window (a ROI); a window may have any number of them. Parameter k of `parameter_names(model)`: x and y in px from the centre of the
/// ROI's pixel (0, 0), photons in e-, bg in e-/px, widths in px, z in micrometres. `crlb` holds standard
/// deviations in the same units (the square root of the Cramer-Rao lower bound; 0 where the status is singular
/// or bad_input).
struct Fits {
    PsfModel model = PsfModel::GaussianXYNB;
    std::array<std::vector<float>, max_parameters> theta;  ///< columns beyond parameter_count(model) are empty
    std::array<std::vector<float>, max_parameters> crlb;
    std::vector<float> log_likelihood_ratio;  ///< log L - log L of the perfect model, <= 0 (docs/theory.md, 4)
    std::vector<float> p_value;               ///< of -2 LLR under a correct model, corrected at low counts
    std::vector<std::uint8_t> iterations;
    std::vector<FitStatus> status;
    std::vector<std::uint32_t> window;  ///< number of the window of each row; empty: row k is the one of window k

    std::size_t count() const { return status.size(); }
    std::size_t window_of(std::size_t row) const { return window.empty() ? row : window[row]; }
    /// For a row a window.
    void resize(PsfModel model, std::size_t n);
};

}  // namespace glint
