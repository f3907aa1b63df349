// NVML, the library behind nvidia-smi, as a table of functions: what GPUs there are, without a context on any.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/cuda_abi.hpp"

namespace glint::gpu {

struct Nvml {
#define X(name, required, parameters) int(*name) parameters = nullptr;
#include "gpu/nvml_list.inc"
#undef X
    std::string why;  // why it cannot be used; empty when it can
};

/// NVML, loaded and initialized at the first call (14 ms). Never throws.
const Nvml& nvml();

}  // namespace glint::gpu
