// The preparation common to fits on the CPU and on GPUs: argument checks, and conversion to the kernel's plain structs.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "fit/kernel_abi.hpp"
#include "fit/row_queue.hpp"
#include "glint/fit.hpp"
#include "glint/roi_view.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Throws OptionError, which names the wrong argument and the valid values.
void check(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options);

/// Returns true if the cost model chooses between CPU and GPU: with Backend::automatic, unless the options prefer any
/// available GPU.
bool compares_backends(const Placement& placement);

/// Throws OptionError if a ROI of rows [first, first + count) is not inside the camera's maps; names the first one.
void check_corners(const RoiView& rois, std::int64_t first, std::int64_t count);

/// Returns the limits of free widths in a ROI of `size` px.
WidthLimits width_limits(const FitSettings& settings, int size);

KernelPsf kernel_psf(const Psf& psf, double pixel_size_nm, const FitSettings& settings, int size);
KernelOptions kernel_options(const RoiView& rois, const FitSettings& settings);

static_assert(max_psf_parameters == max_parameters);

/// Start values as a column per parameter. `known`: number of leading parameters with start values: 0, 2 (x and y) or
/// all.
struct Starts {
    int known = 0;
    const float* of[max_parameters] = {};
};
Starts starts_of(const RoiView& rois, const FitOptions& options);

/// Fits `rows` on the CPU with `options.threads` threads, one molecule each. `finished` is called from any thread with
/// the number of rows of each finished batch. `then` continues with ROIs [first, first + in.count) in the thread that
/// has fitted them; batches are small then. Throws Cancelled.
void fit_on_cpu(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, RowRange rows,
                Fits& fits, FitInfo& info, const std::function<void(std::int64_t count)>& finished = {},
                const std::function<void(const KernelInput& in, std::int64_t first)>& then = {});

}  // namespace glint
