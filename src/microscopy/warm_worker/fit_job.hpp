// A client's job as arguments of a fit: views of the shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "glint/fit.hpp"
#include "glint/roi_view.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

/// Returns true if the value is a PixelType. Use it for untrusted data.
bool is_type(PixelType type);

FitSetup setup_of(const Psf& psf, double pixel_size_nm, const FitSettings& settings);
/// Returns true if psf_of() would succeed. Does not check values that the fit itself checks.
bool is_sound(const FitSetup& setup, const LargeParts& parts);
/// Throws InputError if the text describes no PSF of this program, or a PSF with another table.
Psf psf_of(const FitSetup& setup, const LargeParts& parts);
FitSettings settings_of(const FitSetup& setup);

/// Returns a job for rows like these. The caller must set the number and the position of the rows.
FitJob job_of(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options);

/// Returns true if a job from another process stays within its memory and within the bounds of its fields.
/// layout_of(job) and JobView may then be used. Does not check values that a fit itself checks.
bool is_sound(const FitJob& job, std::size_t memory_bytes, const LargeParts& parts);

bool has_maps(const FitJob& job);
BatchLayout layout_of(const FitJob& job);

struct JobView {
    /// `memory`: start of the job's rows. `parts`: the job's large parts.
    JobView(const FitJob& job, std::byte* memory, const LargeParts& parts);
    JobView(const JobView&) = delete;  // the rows refer to the camera
    JobView& operator=(const JobView&) = delete;

    RoiView rois;
    Psf psf;
    FitOptions options;
    FitsView out;

  private:
    std::optional<CameraView> camera_;
};

}  // namespace glint::warm_worker
