// NVIDIA's MPS: one server process has the GPU, and others go through it.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu {

/// Whether a server may run on this machine at all, as far as this process can see.
bool mps_may_run();
bool is_mps_server(unsigned pid);

}  // namespace glint::gpu
