// Declares the driver's functions from glint's list. The compiler checks their definitions; the linker checks that all
// exist.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/cuda_abi.hpp"

namespace simgpu {

namespace cu = glint::cu;

namespace api {
#define X(name, version, required, parameters) cu::Result name parameters;
#include "gpu/driver_list.inc"
#undef X
}  // namespace api
}  // namespace simgpu
