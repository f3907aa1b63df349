// Whether the CPU or the GPU is done sooner with an operation, by what was measured on this machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "glint/backend.hpp"

namespace glint::offload {

/// A kind of work: "matmul float32", "fit GaussianXYNB". What is measured is kept under its name.
struct Operation {
    constexpr Operation(std::string_view operation, std::string_view size_unit, double flops_grow, double bytes_grow,
                        double rules_size)
        : name(operation), unit(size_unit), flops_power(flops_grow), bytes_power(bytes_grow), rule_size(rules_size) {
        for (const char letter : name) key = (key ^ std::uint64_t(static_cast<unsigned char>(letter))) * 0x100000001b3u;
    }
    std::string_view name, unit;      ///< of static storage; unit: of Work::size, "rows", "elements", "fits"
    double flops_power, bytes_power;  ///< flops grow as size^flops_power, bytes as size^bytes_power
    /// Where nothing was measured, the GPU gets what is larger than this; 0: by bytes alone.
    double rule_size;
    std::uint64_t key = 0xcbf29ce484222325u;  ///< FNV-1a of the name
};

/// One call of an operation. Bytes count what must cross the link if that side does it.
struct Work {
    const Operation* operation = nullptr;
    double size = 0;                                       ///< in the operation's unit
    double flops = 0, bytes = 0;                           ///< computed; read and written in memory
    std::uint64_t bytes_to_gpu = 0, bytes_from_gpu = 0;    ///< of operands that lie on the host
    std::uint64_t bytes_to_host = 0, bytes_to_return = 0;  ///< of operands that lie on the GPU, done on the CPU
    std::uint64_t gpu_bytes = 0;                           ///< of the GPU's memory
    bool pinned = false;                                   ///< the host's operands are page-locked
    double expected_reuse = 1;      ///< operations that will use what is uploaded, this one included
    int launches = 1;               ///< of kernels
    int cpu_threads = 0;            ///< that the CPU would use; 0: all
    std::string_view library = {};  ///< that takes time at its first use: "cublas"; empty: none
};

/// Seconds of one side. Those that do not apply are 0.
struct Terms {
    double wait_s = 0;     ///< for a GPU that others use
    double context_s = 0;  ///< to create one, when cold
    double library_s = 0;  ///< to load what is needed, when cold
    double upload_s = 0, launch_s = 0, compute_s = 0, download_s = 0;
    double total() const { return wait_s + context_s + library_s + upload_s + launch_s + compute_s + download_s; }
};

enum class Basis {
    measured,   ///< times of this operation about this size, on both sides
    estimated,  ///< rates of this machine
    rules,      ///< nothing is measured: fixed sizes
    forced,     ///< there is no choice: Decision::forced_by
};

struct Decision {
    Backend choice = Backend::cpu;  ///< never automatic
    double speedup = 1;             ///< of the choice over the other side
    double spread = 0;              ///< standard deviation of the logarithm of each side's estimate
    Basis basis = Basis::rules;
    std::string forced_by;
    Terms cpu, gpu;
    Work work;
    double flips_at = 0;  ///< the size, else alike, at which the other side is chosen; 0: at none. By explain() alone
    double confidence() const;   ///< 0 to 1: that the choice is the faster one
    std::string reason() const;  ///< one sentence
    std::string table() const;   ///< all terms of both sides, a line each
};

}  // namespace glint::offload
