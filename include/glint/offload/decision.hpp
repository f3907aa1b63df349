// Operations, their costs, and the decision whether the CPU or the GPU is faster, from measurements on this machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "glint/backend.hpp"

namespace glint::offload {

/// A kind of operation: "matmul float32", "fit GaussianXYNB". Measurements are stored under its name. Normally a static
/// constexpr object; must outlive all uses.
struct Operation {
    constexpr Operation(std::string_view operation, std::string_view size_unit, double flops_grow, double bytes_grow,
                        double rules_size)
        : name(operation), unit(size_unit), flops_power(flops_grow), bytes_power(bytes_grow), rule_size(rules_size) {
        for (const char letter : name) key = (key ^ std::uint64_t(static_cast<unsigned char>(letter))) * 0x100000001b3u;
    }
    std::string_view name, unit;      ///< static strings; unit of Work::size: "rows", "elements", "fits"
    double flops_power, bytes_power;  ///< scaling: flops as size^flops_power, bytes as size^bytes_power
    /// Rule if nothing was measured: larger sizes run on the GPU; 0: the number of bytes decides.
    double rule_size;
    std::uint64_t key = 0xcbf29ce484222325u;  ///< FNV-1a of the name
};

/// One call of an operation, with the amounts that determine its cost.
struct Work {
    const Operation* operation = nullptr;  ///< not owned; must outlive the Work
    double size = 0;                       ///< in the operation's unit
    double flops = 0, bytes = 0;           ///< floating-point operations; bytes of memory read and written
    std::uint64_t bytes_to_gpu = 0, bytes_from_gpu = 0;  ///< transfers if the GPU computes and operands are on the host
    /// Transfers if the CPU computes and operands are on the GPU.
    std::uint64_t bytes_to_host = 0, bytes_to_return = 0;
    std::uint64_t gpu_bytes = 0;    ///< GPU memory required
    bool pinned = false;            ///< operands on the host are page-locked
    double expected_reuse = 1;      ///< number of operations that will use the uploaded data, including this one
    int launches = 1;               ///< number of kernels
    int cpu_threads = 0;            ///< used on the CPU; 0: all
    std::string_view library = {};  ///< GPU library with a cost at first use: "cublas"; empty: none
};

/// Estimated time on one side, by component, in seconds. Components that do not apply are 0.
struct Terms {
    double wait_s = 0;     ///< for a lease on a shared GPU
    double context_s = 0;  ///< to create the context, if none is open
    double library_s = 0;  ///< to load the library, if it is not loaded
    double upload_s = 0, launch_s = 0, compute_s = 0, download_s = 0;
    /// Returns the sum of all components.
    double total() const { return wait_s + context_s + library_s + upload_s + launch_s + compute_s + download_s; }
};

/// The basis of a decision.
enum class Basis {
    measured,   ///< measured times of this operation at a similar size on both sides
    estimated,  ///< measured rates of this machine
    rules,      ///< fixed sizes, since nothing was measured
    forced,     ///< no choice: see Decision::forced_by
};

/// A decision for the CPU or the GPU, with the estimates for both sides.
struct Decision {
    Backend choice = Backend::cpu;  ///< cpu or gpu
    double speedup = 1;             ///< estimated time of the other side over that of the choice
    double spread = 0;              ///< standard deviation of ln(estimate) of each side
    Basis basis = Basis::rules;
    std::string forced_by;  ///< the reason if there was no choice; else empty
    Terms cpu, gpu;
    Work work;
    double flips_at = 0;         ///< break-even size, beyond which the choice changes; 0: none. Set by explain() only
    double confidence() const;   ///< probability, 0 to 1, that the choice is the faster side
    std::string reason() const;  ///< one sentence for the user
    std::string table() const;   ///< all terms of both sides, one line each
};

}  // namespace glint::offload
