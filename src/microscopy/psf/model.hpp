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
//   bounds(k)             the interval of shape parameter k. It must exclude points at which a parameter has no
//                         information (slope 0): a fit that ends there is singular
//   spot_radius()         half the edge of a square that contains most of a spot, px; optional, for spots with several
//                         maxima: the fit then starts at their middle instead of at the brightest pixels
//   reach_px()            how far from the centre light counts, px; optional, by default 4.5 widths and a pixel
//   extent(shape, part)   half the edges of the window that contains this part of the light, px; optional, by default
//                         that of a Gaussian of these widths
//   step_limit(k, shape)  maximum step of shape parameter k per iteration
//   typical(z_um, shape)  the shape of a molecule at that z, for simulations. Tests fit these shapes for z from -0.4
//                         to 0.4 um, so every parameter needs information there (Fit.typical_... in fit_test.cpp)
//
// Most models are a Gaussian along x times one along y, integrated over the pixels (theory.md, eq. 1.2). Such a model
// derives from `ProductOfGaussians`. Its widths determine it completely, and the kernel evaluates it only along each
// axis. It has no shape parameter, or one (then `widths` also returns derivatives), or two, which are the widths. Any
// other model derives from `AnyShape` and has
//
//   row(theta, j)         row j of the model at theta, a struct with
//       at(i, slopes)     the fraction h >= 0 of the photons in pixel i, and its derivatives by x, y and each shape
//                         parameter; the kernel's model is N h + bg. Called for ascending i, so a row may keep what
//                         the next pixel needs again
//   rows<with_slopes>(theta, size)
//                         optional: an object with next(j), which returns row j and is called with 0, 1, 2, ..., for a
//                         model whose rows have work in common
//   draw(theta, columns, rows, pitch, to)
//                         optional, for SIMD: writes h and its derivatives in a box of pixels, for one molecule
//
// Models compute with + - * / and comparisons of two Lanes, or of a Lane and a literal such as 0.5f. They also use,
// from psf/lane.hpp,
//
//   splat(number)         a number as a Lane; also `Scalar`, its type: float in the fit, double elsewhere
//   min, max, abs, sqrt, reciprocal, clamp(a, low, high), copy_sign(size, sign)
//   to_float, to_int      conversion between Lanes and whole numbers (IntLane); to_int rounds towards zero
//   lookup(values, at)    elements of a table of floats; clamp() the indices first
//   select(mask, a, b)    instead of ?: and if, with a comparison as the mask; negate, any and all are for masks
//
// and from psf/special.hpp
//
//   exp2_negative(a)            2^a for a <= 0; exp if a contains log2(e)
//   log1p(a)
//   half_erf(v, half, gauss)    erf(u) / 2 and exp(-u^2) for v = u * sqrt_log2_e
//
// The user's numbers are fields of `psf` (psf/numbers.hpp), of type Scalar:
//
//   sigma_px                    --sigma, if facts.source is PsfSource::sigma
//   min_sigma_px, max_sigma_px  bounds of free widths, in fits only
//   sx0_px, sy0_px, gamma_um, d_um, ax, bx, ay, by, z_min_um, z_max_um
//                               --calibration, if the source is PsfSource::calibration. With a table, only z_min_um
//                               and z_max_um are set
//   table.values, table.shape   the table's coefficients for lookup(), if the source is PsfSource::table
//   table.samples, table.width_px  coefficients per pixel, and a typical width
//   own[k]                      facts.numbers[k], as given with --psf-number
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

/// The rows of pixels 0, 1, 2, ... of a model: next(j) is called for each in this order. `with_slopes`: derivatives are
/// needed.
template <class Psf>
struct SingleRows {
    const Psf& psf;
    const Lane* theta;
    GLINT_INLINE auto next(int j) const { return psf.row(theta, j); }
};
template <bool with_slopes, class Psf>
GLINT_INLINE auto rows_from_top(const Psf& psf, const Lane* theta, int size) {
    if constexpr (requires { psf.template rows<with_slopes>(theta, size); })
        return psf.template rows<with_slopes>(theta, size);
    else
        return SingleRows<Psf>{psf, theta};
}

/// Number of fitted parameters besides x, y, N and bg.
template <class Psf>
constexpr int shape_parameters = count_of(Psf::facts.shape);

}  // namespace glint::GLINT_ISA
