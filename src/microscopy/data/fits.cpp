// Fits: names of statuses, and allocation of the columns.
// SPDX-License-Identifier: MIT
#include "glint/fits.hpp"

#include "base/large_vector.hpp"

namespace glint {

std::string_view name_of(FitStatus status) {
    switch (status) {
        case FitStatus::converged: return "converged";
        case FitStatus::iteration_limit: return "iteration limit";
        case FitStatus::at_bound: return "at bound";
        case FitStatus::singular: return "singular";
        case FitStatus::bad_input: return "bad input";
        case FitStatus::saturated: return "saturated";
    }
    return "";
}

void Fits::resize(PsfModel new_model, std::size_t n) {
    model = new_model;
    for (int k = 0; k < max_parameters; ++k) {
        resize_large(theta[k], k < parameter_count(model) ? n : 0);
        resize_large(crlb[k], k < parameter_count(model) ? n : 0);
    }
    resize_large(log_likelihood_ratio, n);
    resize_large(p_value, n);
    resize_large(iterations, n);
    resize_large(status, n);
    window.clear(), emitters.clear();
}

}  // namespace glint
