// The driver's functions, as glint's list declares them: the compiler checks the definitions, the linker that none
// lacks.
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
