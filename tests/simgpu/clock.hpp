// Vector clocks: which operations are ordered before a call by synchronization, independent of the actual execution
// order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace simgpu {

struct Stream;

/// For each stream (by number), the last operation that has certainly executed.
struct Clock {
    std::map<int, std::uint64_t> of_stream;

    void join(const Clock& other);
    bool knows(int stream, std::uint64_t sequence) const;
};

/// One use of a range of memory by an operation.
struct Access {
    int stream;
    std::uint64_t sequence;
    const char* what;
    std::uintptr_t begin, end;
    bool write;
};

/// What the host may do with memory that it shares with devices.
enum class HostAccess { none, read, all };

/// The uses of one allocation that may still conflict with later ones.
class UseLog {
    std::vector<Access> accesses_;

  public:
    /// Records that the operation last enqueued in `stream` uses the range. Terminates the program on a data race:
    /// another stream's conflicting use is not ordered before.
    void note(const Stream& stream, const char* what, std::uintptr_t begin, std::uintptr_t end, bool write);
    /// Returns what a host may do that has synchronized with the operations in its clock.
    HostAccess allowed(const Clock& host) const;
};

}  // namespace simgpu
