// `glint bench fit --gpus N`: one stack spread over several GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/fit.hpp"

namespace glint::cli {

/// A row for 1, 2, 4, ... and all of the GPUs that --gpus allows and that are free. Throws gpu::GpuError; OptionError
/// for more than the host's memory holds.
int bench_fit_gpus(const BenchFitFlags& flags);

}  // namespace glint::cli
