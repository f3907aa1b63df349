// What glint can compute on: the GPUs of CUDA, and the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/backend.hpp"

namespace glint::offload {

struct BackendDevice {
    std::string name;                               ///< "NVIDIA H200", the processor's name
    std::uint64_t total_bytes = 0, free_bytes = 0;  ///< of its memory; 0: not known
};

struct BackendInfo {
    Backend kind = Backend::cpu;         ///< cpu, or gpu for those of any maker
    std::string name;                    ///< "cuda", "cpu"
    std::vector<BackendDevice> devices;  ///< those that can be used
    std::string detail;                  ///< "driver 580.65.06, CUDA 13.0"; "avx512 (also avx2, sse2), 16 threads"
    std::string why_not;                 ///< why there is none to be used, with the remedy; empty: there is one

    /// Of the CPU: the set in force (GLINT_ISA), all that are compiled in and run here, and GLINT_THREADS or what this
    /// process may use.
    std::string instruction_set;
    std::vector<std::string> instruction_sets;
    int threads = 0;

    bool usable() const { return why_not.empty(); }
};

/// All backends, the best one first, also those that cannot be used. Looks anew at every call, as gpu::inventory()
/// does; creates no context. Never throws for what it finds.
std::vector<BackendInfo> detect_backends();

/// The first that can be used, of those that GLINT_BACKEND allows. Throws gpu::NoGpu where that is `gpu` and there is
/// none; OptionError for a GLINT_BACKEND that will not do, or a GLINT_ISA without which the CPU cannot be used.
BackendInfo best_backend();

}  // namespace glint::offload
