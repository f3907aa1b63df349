// The results of fitting, one row a ROI, in ROI coordinates and pixels.
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

constexpr int max_parameters = 6;

/// Structure of arrays with n rows. Parameter k of `parameter_names(model)`: x and y in px from the centre of the
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

    std::size_t count() const { return status.size(); }
    void resize(PsfModel model, std::size_t n);
};

}  // namespace glint
