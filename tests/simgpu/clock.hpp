// Vector clocks: what is known, when a call is made, to have happened before it, in whatever order things then run.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace simgpu {

struct Stream;

/// For each stream (by number) how far it has surely come.
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

/// The uses of one allocation that may still conflict with later ones.
class UseLog {
    std::vector<Access> accesses_;

  public:
    /// Notes that the operation last put into `stream` uses the range. Ends the program when another stream's use of
    /// it, of which one writes, is not ordered before: such a program works by luck.
    void note(const Stream& stream, const char* what, std::uintptr_t begin, std::uintptr_t end, bool write);
};

}  // namespace simgpu
