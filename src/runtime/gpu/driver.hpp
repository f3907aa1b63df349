// The CUDA driver as a table of functions, loaded at run time, so that the program also runs without a driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/cuda_abi.hpp"

namespace glint::gpu {

struct Driver {
#define X(name, version, required, parameters) cu::Result(*name) parameters = nullptr;
#include "gpu/driver_list.inc"
#undef X
    int version = 0;  // of CUDA, 1000 * major + 10 * minor; 0: unknown
    std::string why;  // why the driver cannot be used, with the remedy; empty: usable
};

/// Returns why GLINT_GPU_ENABLED forbids this process to use GPUs, with the remedy; empty: it does not forbid them.
/// Read once, at the first call, so that the answer does not change while contexts are open.
const std::string& why_disabled();

/// Returns the driver, loaded and initialized at the first call. Does not throw if there is none: check `why`, which is
/// also set in a forked child of a process that had initialized the driver.
const Driver& driver();
/// Returns the driver. Throws NoGpu if it cannot be used, GpuError in a forked child.
const Driver& usable_driver();

/// True in a forked child of a process that had initialized the driver. Inherited handles must not be used or freed.
bool forked();

/// Whether this process has a context on the GPU: the primary one, created by any library, or a separate one of glint.
bool context_is_there(int ordinal);
/// Adds `change` to the number of separate contexts that context_is_there() counts.
void note_separate_context(int ordinal, int change) noexcept;

/// Returns CUDA_VISIBLE_DEVICES, quoted, if it is set; else empty.
std::string visible_devices_note();

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel touched memory that is not its own"
std::string describe(cu::Result result);
/// Whether every later call on the GPU fails too, until the process ends.
bool is_sticky(cu::Result result);
/// Throws DeviceLost, OutOfMemory or GpuError, with a remedy, unless `result` is success. `what` names the call.
void check(cu::Result result, const char* what);
[[noreturn]] void fail(cu::Result result, const std::string& what);

}  // namespace glint::gpu
