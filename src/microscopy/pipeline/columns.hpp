// Visits the columns of ROIs and of fits.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <type_traits>

#include "glint/fits.hpp"
#include "glint/rois.hpp"

namespace glint {

/// Calls visit(column of a, the same column of b) for every column of values per ROI or row.
template <class R, class Visit>
requires std::same_as<std::remove_const_t<R>, Rois>
void for_columns(R& a, const Rois& b, const Visit& visit) {
    visit(a.pixels, b.pixels), visit(a.variance, b.variance), visit(a.additive, b.additive), visit(a.qe, b.qe);
    visit(a.x_corner, b.x_corner), visit(a.y_corner, b.y_corner), visit(a.frame, b.frame);
    visit(a.x_start, b.x_start), visit(a.y_start, b.y_start);
}
template <class F, class Visit>
requires std::same_as<std::remove_const_t<F>, Fits>
void for_columns(F& a, const Fits& b, const Visit& visit) {
    for (int k = 0; k < max_parameters; ++k) visit(a.theta[k], b.theta[k]), visit(a.crlb[k], b.crlb[k]);
    visit(a.log_likelihood_ratio, b.log_likelihood_ratio), visit(a.p_value, b.p_value);
    visit(a.iterations, b.iterations), visit(a.status, b.status), visit(a.window, b.window);
}

}  // namespace glint
