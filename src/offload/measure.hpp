// Measuring a GPU and the link to it, in a tenth of a second.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/stream.hpp"
#include "offload/machine.hpp"

namespace glint::offload {

/// Fills what belongs to the GPU and the link; the rest is left.
void measure_gpu(const gpu::Context& context, const gpu::Stream& stream, Constants& constants);

}  // namespace glint::offload
