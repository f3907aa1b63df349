// The kernel: maximum-likelihood fits by Fisher scoring, one per lane (docs/explanation/theory.md, section 3).
//
// After Smith et al., Nat. Methods 7, 373 (2010), with the full Fisher matrix instead of its diagonal. Written once, as
// templates over the PSF model, for all instruction sets and GPUs; `Lane` (psf/lane.hpp) is the number type. In the
// order of a fit:
//
//   kernel/group.hpp           pixels in, results out
//   kernel/group_fit.hpp       GroupFit, the class whose members the following headers define
//   kernel/start_estimate.hpp  start values
//   kernel/likelihood.hpp      gradient and Fisher matrix, from the sums of kernel/fisher_sums.hpp
//   kernel/fisher_scoring.hpp  the iteration and the Cramer-Rao lower bounds, by cholesky.hpp
//   kernel/deviance.hpp        goodness of fit, by goodness.hpp
//   kernel/row_models.hpp      all of these steps for models that do not separate along x and y
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel/deviance.hpp"
#include "fit/kernel/fisher_scoring.hpp"
#include "fit/kernel/likelihood.hpp"
#include "fit/kernel/row_models.hpp"
#include "fit/kernel/start_estimate.hpp"
