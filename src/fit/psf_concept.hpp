// What a PSF model tells the kernel: its widths along x and y, and how its own ("shape") parameters move them.
//
// A model is a struct with
//   shape_parameters    parameters after x, y, N, bg: 0, 1 or 2 (2: the widths themselves)
//   start_candidates    how many starts are tried; the best by least squares is taken
//   widths(shape)       sigma_x, sigma_y in px, and with one shape parameter their derivatives by it
//   start(k, shape)     sets the shape parameters to the k-th candidate
//   bounds(k)           where shape parameter k must stay
//   step_limit(k, shape)  the longest step of shape parameter k in one iteration
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel_abi.hpp"
#include "fit/lane.hpp"

namespace glint::GLINT_ISA {

struct Widths {
    Lane x, y;              // px
    Lane x_slope, y_slope;  // derivatives by the one shape parameter
};

struct Interval {
    Lane low, high;
};

}  // namespace glint::GLINT_ISA
