// Results of fits as Python objects.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include "glint/fit.hpp"

namespace glint::python {

/// Columns theta0, crlb0, ..., log_likelihood, p_value, iterations, status over the vectors of `fits`.
nanobind::dict columns_of(Fits&& fits);
nanobind::dict dict_of(const FitInfo& info);

}  // namespace glint::python
