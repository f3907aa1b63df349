// The state of a joint fit: molecules with their model, and the memory for all numbers of a group, which fits into a
// core's caches, or a GPU's.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/image_sums.hpp"

namespace glint::GLINT_ISA {

/// Molecules, one background, and their model (mu' of each pixel, at least model_floor).
struct JointState {
    int count;
    float bg, tilt[2];  // bg at the image's centre; slopes of the background along x and y, per px
    float* theta;       // max_psf_parameters each
    float* mu;
    GLINT_INLINE float* of(int e) const { return theta + e * max_psf_parameters; }
};

/// The memory in which a joint fit works, one per team. Borrowed; nothing in it outlives the fit.
template <class Psf>
struct JointSpace {
    using Image = EmitterImage<Psf>;
    static constexpr int margin = 16;                                  // floats around data that are read in whole rows
    static constexpr int max_reach = 16, stencil = 2 * max_reach + 1;  // px
    static constexpr size_t floats_of_image = sizeof(Image) / sizeof(float);
    JointState states[3];
    float *residual, *weight, *fixed, *score, *photons, *start_shape;  // of each pixel
    float* profiles[2];
    Image* images[2];        // of each molecule that moves
    int* which;              // indices of the moving molecules, in increasing order
    float* last_step;        // of the moving molecules, in standard errors
    float* moments;          // of each molecule (MomentSums)
    float *fisher, *factor;  // the inverse is computed in the memory of `fisher`
    float *gradient, *scale, *solution, *diagonal, *inverse_pivot;  // of each parameter
    float *along, *down;  // the image of the searched molecule, along both axes, or in `down` alone

    /// Places all arrays from `at` on, which is aligned to 8 bytes. Returns the number of floats, also for a null
    /// pointer.
    GLINT_INLINE size_t lay_out(float* at, int pitch, int height, int molecules) {
        const size_t pixels = size_t(pitch) * size_t(height), order = size_t(rounded_up(4 + molecules * Image::each));
        const size_t count = size_t(molecules);
        size_t used = 0;
        const auto take = [&](size_t n) {
            float* begin = at ? at + used + margin : nullptr;
            used += (n + 1) / 2 * 2 + 2 * margin;
            return begin;
        };
        for (JointState& state : states) {
            state.theta = take(count * max_psf_parameters);
            state.mu = take(pixels);
        }
        float** planes[] = {&residual, &weight, &fixed, &score, &photons, &start_shape};
        for (float** plane : planes) *plane = take(pixels);
        for (float*& bank : profiles) bank = take(count * size_t(Image::space(pitch, height)));
        for (Image*& bank : images) bank = reinterpret_cast<Image*>(take(count * floats_of_image));
        which = reinterpret_cast<int*>(take(count)), last_step = take(count);
        moments = take(count * size_t(MomentSums<Psf>::count));
        along = take(stencil), down = take(Psf::separable ? stencil : stencil * stencil);
        float** matrices[] = {&fisher, &factor};
        for (float** matrix : matrices) *matrix = take(order * order);
        float** vectors[] = {&gradient, &scale, &solution, &diagonal, &inverse_pivot};
        for (float** vector : vectors) *vector = take(order);
        return used;
    }
};

}  // namespace glint::GLINT_ISA
