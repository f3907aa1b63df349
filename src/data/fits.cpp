// The table of fits.
// SPDX-License-Identifier: MIT
#include "glint/fits.hpp"

namespace glint {

std::string_view name_of(FitStatus status) {
    switch (status) {
        case FitStatus::converged: return "converged";
        case FitStatus::iteration_limit: return "iteration limit";
        case FitStatus::at_bound: return "at bound";
        case FitStatus::singular: return "singular";
        case FitStatus::bad_input: return "bad input";
    }
    return "";
}

void Fits::resize(PsfModel new_model, std::size_t n) {
    model = new_model;
    for (int k = 0; k < max_parameters; ++k) {
        theta[k].resize(k < parameter_count(model) ? n : 0);
        crlb[k].resize(k < parameter_count(model) ? n : 0);
    }
    log_likelihood_ratio.resize(n);
    p_value.resize(n);
    iterations.resize(n);
    status.resize(n);
}

}  // namespace glint
