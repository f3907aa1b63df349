// Vector clocks.
// SPDX-License-Identifier: MIT
#include "clock.hpp"

#include <algorithm>

#include "schedule.hpp"
#include "settings.hpp"

namespace simgpu {

void Clock::join(const Clock& other) {
    for (const auto& [stream, sequence] : other.of_stream) of_stream[stream] = std::max(of_stream[stream], sequence);
}

bool Clock::knows(int stream, std::uint64_t sequence) const {
    const auto found = of_stream.find(stream);
    return found != of_stream.end() && found->second >= sequence;
}

void UseLog::note(const Stream& stream, const char* what, std::uintptr_t begin, std::uintptr_t end, bool write) {
    static const bool check = setting_number("SIMGPU_RACECHECK", 1) != 0;
    if (!check) return;
    const auto superseded = [&](const Access& earlier) {
        const bool before = stream.clock.knows(earlier.stream, earlier.sequence);
        const bool overlap = earlier.begin < end && begin < earlier.end;
        if (overlap && (earlier.write || write) && !before)
            bug("%s on stream %d is not ordered after %s on stream %d, which uses the same memory: an event wait is "
                "missing",
                what, stream.id, earlier.what, earlier.stream);
        return before && earlier.begin >= begin && earlier.end <= end && (write || !earlier.write);
    };
    std::erase_if(accesses_, superseded);
    accesses_.push_back({stream.id, stream.pushed, what, begin, end, write});
}

HostAccess UseLog::allowed(const Clock& host) const {
    HostAccess allowed = HostAccess::all;
    for (const Access& access : accesses_)
        if (!host.knows(access.stream, access.sequence))
            allowed = std::min(allowed, access.write ? HostAccess::none : HostAccess::read);
    return allowed;
}

}  // namespace simgpu
