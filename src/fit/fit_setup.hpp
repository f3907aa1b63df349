// What every fit does first, wherever it runs: checks what was asked, and turns it into the kernel's numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "fit/kernel_abi.hpp"
#include "fit/row_queue.hpp"
#include "glint/fit.hpp"
#include "glint/roi_view.hpp"

namespace glint {

/// Throws OptionError with what is wrong and the way out.
void check(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options);

/// Throws OptionError with the first of rows [first, first + count) that is not inside the camera's maps.
void check_corners(const RoiView& rois, std::int64_t first, std::int64_t count);

KernelPsf kernel_psf(const Psf& psf, double pixel_size_um, const FitOptions& options, int size);
KernelOptions kernel_options(const RoiView& rois, const FitOptions& options);

static_assert(most_parameters == max_parameters);

/// Start values by parameter, and how many leading parameters have some: none, x and y, or all.
struct Starts {
    int known = 0;
    const float* of[max_parameters] = {};
};
Starts starts_of(const RoiView& rois, const FitOptions& options);

/// The CPU's way, by `options.threads`; `finished` is told how many rows are final, as batches end, from any thread.
/// Throws Cancelled.
void fit_on_cpu(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, RowRange rows,
                Fits& fits, FitInfo& info, const std::function<void(std::int64_t count)>& finished = {});

}  // namespace glint
