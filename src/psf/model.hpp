// What a PSF model is: a struct in src/psf/NAME.hpp, and a line in include/glint/psf_models.inc. CONTRIBUTING.md goes
// through an example.
//
// A model is compiled for each number type "Lane" (psf/lane.hpp): SIMD registers and a GPU's thread, for the fit, and double
// precision, for all else (psf/in_double.hpp). Its members:
//
//   facts                 in words and numbers: what is fitted and given (psf/facts.hpp)
//   start_candidates      how many starts are tried; the best by least squares is taken
//   widths(shape)         the standard deviations along x and y in px, at the shape parameters, i.e. theta[4], ...
//   start(k, shape)       sets the shape parameters to the k-th candidate
//   bounds(k)             where shape parameter k must stay
//   step_limit(k, shape)  the longest step of shape parameter k in one iteration
//   typical(z_um, shape)  the shape of a molecule that far from the focus, as simulations draw it
//
// Most spots are a Gaussian along x times one along y, integrated over the pixels (docs/theory.md, eq. 1.2). For these
// the widths say all, and the kernel evaluates them along each axis only: such a model derives from `ProductOfGaussians`, and has
// no shape parameter, one (then `widths` gives its derivatives too), or two, which are the widths. Any other derives from
// `AnyShape` and has
//
//   row(theta, j)         row j of the picture at theta, a struct with
//       at(i, slopes)     the expected part h >= 0 of the photons in pixel i, and its derivatives by x, y and each shape
//                         parameter; the kernel makes N h + bg of it
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/facts.hpp"
#include "psf/lane.hpp"

namespace glint::GLINT_ISA {

struct Widths {
    Lane x, y;              // px
    Lane x_slope, y_slope;  // derivatives by the one shape parameter
};

struct Interval {
    Lane low, high;
};

struct ProductOfGaussians {
    static constexpr bool separable = true;
    PsfNumbers<Scalar> psf;
};

struct AnyShape {
    static constexpr bool separable = false;
    PsfNumbers<Scalar> psf;
};

/// Number of parameters that a model fits besides x, y, N and bg.
template <class Psf>
constexpr int shape_parameters = count_of(Psf::facts.shape);

}  // namespace glint::GLINT_ISA
