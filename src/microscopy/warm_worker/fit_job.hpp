// A job of a client as what a fit takes: views of the shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "glint/fit.hpp"
#include "glint/roi_view.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

/// Whether it is one, wherever it comes from.
bool is_type(PixelType type);

FitSetup setup_of(const Psf& psf, double pixel_size_nm, const FitSettings& settings);
/// Returns whether psf_of() succeeds. The fit checks the values itself.
bool is_sound(const FitSetup& setup, const LargeParts& parts);
/// Throws InputError if the text describes no PSF of this program, or one with another table.
Psf psf_of(const FitSetup& setup, const LargeParts& parts);
FitSettings settings_of(const FitSetup& setup);

/// Returns a job for rows like these; the number and place of rows are still to be set.
FitJob job_of(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options);

/// Whether a job that another process has sent stays within its memory, and within the bounds of its fields, so that
/// layout_of(job) and JobView may be used. What a fit checks itself is not looked at.
bool is_sound(const FitJob& job, std::size_t memory_bytes, const LargeParts& parts);

bool has_maps(const FitJob& job);
BatchLayout layout_of(const FitJob& job);

struct JobView {
    /// `memory`: where the job's rows begin. `parts`: what the job has of them.
    JobView(const FitJob& job, std::byte* memory, const LargeParts& parts);
    JobView(const JobView&) = delete;  // the rows borrow the camera
    JobView& operator=(const JobView&) = delete;

    RoiView rois;
    Psf psf;
    FitOptions options;
    FitsView out;

  private:
    std::optional<CameraView> camera_;
};

}  // namespace glint::warm_worker
