// cuBLAS, cuFFT, cuSOLVER and NVRTC as tables of functions, loaded at run time, so that the program also runs without
// them.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>

#include "arrays/library_abi.hpp"
#include "arrays/library_advice.hpp"
#include "gpu/context_state.hpp"

namespace glint::arrays {

struct Cublas {
#define X(name, parameters) lib::Status(*name) parameters = nullptr;
#include "arrays/cublas_list.inc"
#undef X
};

struct Cufft {
#define X(name, parameters) lib::Status(*name) parameters = nullptr;
#include "arrays/cufft_list.inc"
#undef X
};

struct Cusolver {
#define X(name, parameters) lib::Status(*name) parameters = nullptr;
#include "arrays/cusolver_list.inc"
#undef X
};

struct Nvrtc {
#define X(name, parameters) lib::Status(*name) parameters = nullptr;
#include "arrays/nvrtc_list.inc"
#undef X
};

/// Loaded at the first call, and never unloaded. Throw LibraryMissing; the next call tries again.
const Cublas& cublas();
const Cufft& cufft();
const Cusolver& cusolver();
const Nvrtc& nvrtc();

/// Returns the first library that can be loaded: one that the process has loaded already, else one that the system
/// finds (also by LD_LIBRARY_PATH), else one in the default folder of a toolkit. Throws LibraryMissing, which names
/// `package` of pip and `apt` of apt-get.
void* open_library(std::initializer_list<const char*> names, const char* package, const char* apt);

/// Throws OutOfMemory, DeviceLost (if a sticky error is the cause) or GpuError unless `status` is success.
void check(const gpu::detail::ContextState& home, Library library, const char* call, lib::Status status);

}  // namespace glint::arrays
