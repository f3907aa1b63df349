// What operations ran where, and whether that was right.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glint::offload {

/// Of one operation on one side.
struct SideStatistics {
    std::uint64_t calls = 0, timed_calls = 0;
    double seconds = 0;  ///< of the timed calls; the mean is seconds / timed_calls
    std::uint64_t bytes_up = 0, bytes_down = 0, transfers = 0;  ///< over the link, for all calls
};

struct OperationStatistics {
    std::string name;
    SideStatistics cpu, gpu;
    /// Decisions that, by the time it took and what the other side was estimated at, chose the faster side, or not.
    std::uint64_t right = 0, wrong = 0;
    double gpu_share() const {  ///< of the calls
        const double calls = double(cpu.calls + gpu.calls);
        return calls > 0 ? double(gpu.calls) / calls : 0;
    }
};

/// An operation that the GPU could not do.
struct Fallback {
    std::string operation, why;
    std::uint64_t bytes_asked = 0, bytes_free = 0;  ///< 0: not a lack of memory
};

struct Statistics {
    std::vector<OperationStatistics> operations;  ///< by name
    std::uint64_t fallbacks = 0;                  ///< to the CPU
    std::vector<Fallback> last_fallbacks;         ///< at most the last 100
};

std::string as_json(const Statistics& statistics);

}  // namespace glint::offload
