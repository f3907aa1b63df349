// Measures a GPU and the link to it, in about 0.1 s.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/stream.hpp"
#include "offload/machine.hpp"

namespace glint::offload {

/// Sets the members of `constants` that describe the GPU and the link.
void measure_gpu(const gpu::Context& context, const gpu::Stream& stream, Constants& constants);

}  // namespace glint::offload
