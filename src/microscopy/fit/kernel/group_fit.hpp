// The fit of one group of ROIs: a class whose members the other headers of this folder define.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/kernel/group.hpp"

namespace glint::GLINT_ISA {

/// Fits one group of ROIs, one per lane: call `start_from` or `estimate_start`, then `run`, then `add_goodness`.
/// Pixels, model and options are borrowed and must outlive the object.
///
/// `fixed`: the ROI size if it is known at compile time, else 0. `mapped`: the known part of the model differs from
/// pixel to pixel. `weighted`: the quantum efficiency also differs. These are template parameters because the loops
/// over pixels must have no branches and, with a known size, unroll.
template <class Psf, int fixed, bool mapped, bool weighted = false>
class GroupFit {
    static constexpr int P = Derivatives<Psf>::P;
    static constexpr int shapes = shape_parameters<Psf>;
    static constexpr int capacity = fixed ? fixed : max_size;
    // Number of rows that GPU code unrolls. More rows would exceed its registers and instruction cache.
    static constexpr int rows_at_once = shapes == 0 && !mapped ? 2 : 1;
    static constexpr int start_rows_at_once = rows_at_once == 2 && fixed > 0 && fixed <= 7 ? 7 : 1;

    const GroupPixels& pixels_;
    const Psf& psf_;
    const KernelOptions& options_;
    Lane theta_[P];
    Lane min_bg_ = Lane{};  // at theta_'s position: with a lower bg, some pixel's model would be below the floor

    GLINT_INLINE int size() const {
        const int s = fixed ? fixed : pixels_.size;
        // Arguments are checked before (fit_setup.cpp). This lets the compiler omit the loops' tests for zero
        // iterations.
        if (s < 3) __builtin_unreachable();
        return s;
    }

  public:
    GLINT_INLINE GroupFit(const GroupPixels& pixels, const Psf& psf, const KernelOptions& options)
        : pixels_(pixels), psf_(psf), options_(options) {}

    /// Starts from P given parameters; N and bg are divided by f.
    GLINT_INLINE void start_from(const Lane* theta) {
        for (int k = 0; k < P; ++k) theta_[k] = theta[k];
    }
    // start_estimate.hpp
    GLINT_INLINE void estimate_start();
    GLINT_INLINE void estimate_start(Lane x, Lane y);

    /// Returns NaN if any pixel was NaN, because bg is a sum over all pixels. Without maps, the GPU's kernel tests only
    /// this.
    GLINT_INLINE Lane background() const { return theta_[3]; }

    // fisher_scoring.hpp
    GLINT_INLINE void run(GroupResult<Psf>& out);

    // deviance.hpp
    template <PixelNoise noise>
    GLINT_NOINLINE void add_goodness(Goodness& sum) const;

  private:
    GLINT_INLINE Lane known(int p) const {
        return mapped ? load(pixels_.known + p * lane_width) : pixels_.known_scalar;
    }

    // start_estimate.hpp
    GLINT_INLINE void find_brightest(Lane& x, Lane& y) const;
    GLINT_INLINE void find_middle(Lane& x, Lane& y) const;
    GLINT_INLINE Lane relative(int p) const;
    GLINT_INLINE Lane excess(int p) const;
    GLINT_INLINE Lane linear_start(Lane* theta) const;

    // likelihood.hpp
    GLINT_INLINE Lane far_end(Lane center_px, Lane width_px) const;
    GLINT_INLINE void evaluate(Derivatives<Psf>& score);

    // fisher_scoring.hpp
    static GLINT_INLINE Mask select_mask(Mask mask, Mask yes, Mask no);
    GLINT_INLINE Interval bounds(int k) const;
    GLINT_INLINE Mask hold_bounded(Derivatives<Psf>& score) const;
    GLINT_INLINE void damp(const Derivatives<Psf>& score, const Lane* previous, Lane previous_slope,
                           Lane& fraction) const;
    GLINT_INLINE void take_step(const Lane* step, Lane fraction, Lane* moved) const;

    // deviance.hpp
    template <PixelNoise noise, bool bright>
    GLINT_INLINE void sum_goodness(Goodness& sum) const;
    template <PixelNoise noise, bool bright>
    GLINT_INLINE void add_pixel(Goodness& sum, int p, Lane mu) const;

    // row_models.hpp
    GLINT_INLINE Lane compare_by_rows(const Lane* theta) const;
    GLINT_INLINE void linear_start_by_rows(Lane* theta) const;
    GLINT_INLINE void evaluate_by_rows(Derivatives<Psf>& score);
    template <PixelNoise noise, bool bright>
    GLINT_INLINE void sum_goodness_by_rows(Goodness& sum) const;
};

}  // namespace glint::GLINT_ISA
