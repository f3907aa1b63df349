// The available backends: CUDA GPUs and the CPU.
//
//     for (const glint::offload::BackendInfo& backend : glint::offload::detect_backends())
//         std::printf("%s: %s\n", backend.name.c_str(), backend.usable() ? "usable" : backend.why_not.c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/backend.hpp"

namespace glint::offload {

/// A device of a backend.
struct BackendDevice {
    std::string name;                               ///< "NVIDIA H200", or the CPU's model
    std::uint64_t total_bytes = 0, free_bytes = 0;  ///< memory; 0: unknown
};

/// A backend and its devices.
struct BackendInfo {
    Backend kind = Backend::cpu;         ///< cpu, or gpu for GPUs of any vendor
    std::string name;                    ///< "cuda", "cpu"
    std::vector<BackendDevice> devices;  ///< usable devices
    std::string detail;                  ///< "driver 580.65.06, CUDA 13.0"; "avx512 (also avx2, sse2), 16 threads"
    std::string why_not;                 ///< why no device can be used, with the remedy; empty: one can

    /// For the CPU: the active instruction set (GLINT_ISA), all that are compiled in and supported, and the number of
    /// threads (GLINT_THREADS, or all that this process may use).
    std::string instruction_set;
    std::vector<std::string> instruction_sets;
    int threads = 0;

    bool usable() const { return why_not.empty(); }  ///< whether a device can be used
};

/// Returns all backends, the preferred one first, including those that cannot be used. Queries the system at every
/// call, as gpu::inventory(). Creates no context. Does not throw.
std::vector<BackendInfo> detect_backends();

/// Returns the first usable backend that GLINT_BACKEND allows. Throws gpu::NoGpu if GLINT_BACKEND is `gpu` and no GPU
/// can be used, and OptionError for an invalid GLINT_BACKEND, GLINT_ISA or GLINT_THREADS.
BackendInfo best_backend();

}  // namespace glint::offload
