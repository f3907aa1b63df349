// NVIDIA MPS (Multi-Process Service): one server process holds the context, and client processes share it.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu {

/// Whether an MPS server may be running. False saves looking at each process.
bool mps_may_run();
bool is_mps_server(unsigned pid);

}  // namespace glint::gpu
