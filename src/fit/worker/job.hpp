// A job of a client as what a fit takes: views of the shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/worker/messages.hpp"
#include "glint/fit.hpp"
#include "glint/roi_view.hpp"

namespace glint::worker {

/// Whether it is one, wherever it comes from.
bool is_type(PixelType type);

FitSetup setup_of(const Psf& psf, double pixel_size_um, const FitOptions& options);
/// Whether the model and the numbers are some that this program has. What a fit checks itself is not looked at.
bool is_sound(const FitSetup& setup);
Psf psf_of(const FitSetup& setup);
FitOptions options_of(const FitSetup& setup);

/// The job of rows like these. Nothing in it says how many rows, or where.
FitJob job_of(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options);

/// Whether a job that another process has sent stays within its memory, and within the bounds of its fields, so that
/// layout_of(job) and JobView may be used. What a fit checks itself is not looked at.
bool is_sound(const FitJob& job, std::size_t memory_bytes);

BatchLayout layout_of(const FitJob& job);

struct JobView {
    /// `memory`: where the job's rows begin.
    JobView(const FitJob& job, std::byte* memory);

    RoiView rois;
    Psf psf;
    FitOptions options;
    FitsView out;
};

}  // namespace glint::worker
