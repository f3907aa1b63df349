// The CUDA driver as a table of functions, found at run time: the same program runs where there is none.
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
    std::string why;  // why it cannot be used, with the remedy; empty when it can
};

/// Why this process shall see no GPU, with the remedy: GLINT_GPU_ENABLED; empty: it may. Looked up once, at the first
/// call, so that nothing changes under what is open.
const std::string& why_disabled();

/// The driver, loaded and initialized at the first call. Never throws for lack of one: look at `why`, which a forked
/// child finds set when its parent had started the driver.
const Driver& driver();
/// The driver, or NoGpu. In a forked child of a process that had started it: GpuError.
const Driver& usable_driver();

/// True in a child of a process that had started the driver. What it inherited must not be touched, nor freed.
bool forked();

/// Whether this process has a context on the GPU: the primary one, whichever library made it, or a separate one of ours.
bool context_is_there(int ordinal);
/// One more, or one less, that context_is_there() knows of.
void note_separate_context(int ordinal, int change) noexcept;

/// CUDA_VISIBLE_DEVICES, quoted, when it is set; else empty.
std::string visible_devices_note();

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel touched memory that is not its own"
std::string describe(cu::Result result);
/// After such an error every call fails until the process ends.
bool is_sticky(cu::Result result);
/// Throws what `result` of `what` means, with a remedy: DeviceLost, OutOfMemory or GpuError; nothing on success.
void check(cu::Result result, const char* what);
[[noreturn]] void fail(cu::Result result, const std::string& what);

}  // namespace glint::gpu
