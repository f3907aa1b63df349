// The interface of a PSF model: a struct in src/microscopy/psf/NAME.hpp, and a line in include/glint/psf_models.inc.
// CONTRIBUTING.md has an example.
//
// A model is compiled for each number type `Lane` (psf/lane.hpp): SIMD registers and GPU threads for the fit, double
// precision for everything else (psf/in_double.hpp). Its members:
//
//   facts                 name and unit of each fitted parameter, and the numbers that the user gives (psf/facts.hpp)
//   start_candidates      number of start shapes; the fit starts from the best one by least squares
//   widths(shape)         standard deviations along x and y, px, for the shape parameters theta[4], ...
//   start(k, shape)       sets the shape parameters to the k-th candidate
//   bounds(k)             the interval of shape parameter k; without points where a parameter has no information, as
//                         where the model's slope by it is 0: a fit that ends there is singular
//   extent(shape, part)   half the edges of the window that contains this part of the light, px; optional: without it,
//                         that of a Gaussian of these widths
//   step_limit(k, shape)  maximum step of shape parameter k per iteration
//   typical(z_um, shape)  the shape of a molecule at that z, for simulations; also where the tests fit, for z from -0.4
//                         to 0.4 um, so every parameter needs information there (Fit.typical_... in fit_test.cpp)
//
// Most models are a Gaussian along x times one along y, integrated over the pixels (theory.md, eq. 1.2). The
// widths determine these completely, and the kernel evaluates them along each axis only. Such a model derives from
// `ProductOfGaussians` and has no shape parameter, one (then `widths` returns derivatives, too), or two, which are the
// widths themselves. Any other model derives from `AnyShape` and has
//
//   row(theta, j)         row j of the model at theta, a struct with
//       at(i, slopes)     the fraction h >= 0 of the photons in pixel i, and its derivatives by x, y and each shape
//                         parameter; the kernel's model is N h + bg
//
// What they compute with: + - * / and comparisons of Lanes, a Lane and a literal such as 0.5f; from psf/lane.hpp
//
//   splat(number)         a number as a Lane; also `Scalar`, its type: float in the fit, double elsewhere
//   min, max, abs, sqrt, reciprocal, clamp(a, low, high), copy_sign(size, sign)
//   to_float, to_int      between Lanes and whole numbers (IntLane); to_int towards zero
//   lookup(values, at)    elements of a table of floats; clamp() the indices first
//   select(mask, a, b)    instead of ?: and if, with a comparison as the mask; negate, any and all are for masks
//
// and from psf/special.hpp exp2_negative(a), 2^a for a <= 0 (with log2(e) in a, exp), log1p(a), and
// half_erf(v, half, gauss), erf(u) / 2 and exp(-u^2) of v = u * sqrt_log2_e. The user's numbers are fields of `psf`
// (psf/numbers.hpp), of type Scalar:
//
//   sigma_px                    --sigma, where facts.source is PsfSource::sigma
//   min_sigma_px, max_sigma_px  bounds of free widths, in fits only
//   sx0_px, sy0_px, gamma_um, d_um, ax, bx, ay, by, z_min_um, z_max_um
//                               --calibration, where it is PsfSource::calibration; of the table z_min_um and z_max_um
//   table.values, table.shape   its coefficients, where it is PsfSource::table, for lookup() (psf/lane.hpp)
//   own[k]                      facts.numbers[k], as --psf-number gives it
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

/// Number of fitted parameters besides x, y, N and bg.
template <class Psf>
constexpr int shape_parameters = count_of(Psf::facts.shape);

}  // namespace glint::GLINT_ISA
