// Fits: names of statuses, and allocation of the columns.
// SPDX-License-Identifier: MIT
#include "glint/fits.hpp"

#include <algorithm>

#include "base/large_vector.hpp"

namespace glint {

std::string_view to_name(FitStatus status) {
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

std::int64_t count_at_z_bound(const Fits& fits, const Psf& psf) {
    const std::vector<std::string_view>& names = parameter_names(psf.model);
    const auto found = std::find(names.begin(), names.end(), "z");
    if (found == names.end()) return 0;
    const std::vector<float>& z_um = fits.theta[std::size_t(found - names.begin())];
    const ZRange range = psf.z_range();
    constexpr double nm_per_um = 1000, rounding_nm = 0.01;
    std::int64_t count = 0;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        const double z_nm = nm_per_um * double(z_um[k]);
        count += fits.status[k] == FitStatus::at_bound &&
                 (z_nm <= range.min_nm + rounding_nm || z_nm >= range.max_nm - rounding_nm);
    }
    return count;
}

}  // namespace glint
