// Statistics of a session: which operations ran where, how long they took, and whether the decisions were right.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glint::offload {

/// One operation on one side.
struct SideStatistics {
    std::uint64_t calls = 0, timed_calls = 0;
    double seconds = 0;  ///< total of the timed calls; the mean is seconds / timed_calls
    std::uint64_t bytes_up = 0, bytes_down = 0, transfers = 0;  ///< over the link, all calls
};

/// One operation on both sides.
struct OperationStatistics {
    std::string name;
    SideStatistics cpu, gpu;
    /// Decisions for the faster side, or for the slower side: measured time compared with the estimate for the other
    /// side.
    std::uint64_t right = 0, wrong = 0;
    /// Returns the fraction of the calls that ran on the GPU.
    double gpu_share() const {
        const double calls = double(cpu.calls + gpu.calls);
        return calls > 0 ? double(gpu.calls) / calls : 0;
    }
};

/// An operation that ran on the CPU because it failed on the GPU.
struct Fallback {
    std::string operation, why;                     ///< why: the message of the exception
    std::uint64_t bytes_asked = 0, bytes_free = 0;  ///< of an out-of-memory error; otherwise 0
};

/// All operations of a session since it began, or since reset_statistics().
struct Statistics {
    std::vector<OperationStatistics> operations;  ///< by name
    /// Copies of arrays to and from the GPU outside operations: bytes and transfers.
    SideStatistics copies;
    std::uint64_t failures = 0;            ///< failed attempts on the GPU; another attempt may have succeeded there
    std::uint64_t fallbacks = 0;           ///< operations that ran on the CPU because they failed on the GPU
    std::vector<Fallback> last_fallbacks;  ///< at most the last 100

    /// Returns the sums over all operations, with `copies` on the GPU's side.
    OperationStatistics total() const;
};

/// Returns the statistics as a JSON object, indented by 2 spaces.
std::string as_json(const Statistics& statistics);

}  // namespace glint::offload
