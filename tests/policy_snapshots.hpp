// Snapshots of GPUs, leases and requests for tests of the lease policy, and its decisions on them.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/lease/policy.hpp"

namespace glint::gpu::lease::test {

constexpr std::uint64_t gib = std::uint64_t(1) << 30, context = gib / 2;
constexpr std::uint32_t me = 1000, somebody = 1001;

/// Returns empty GPUs of 80 GiB.
inline Snapshot server(int gpus) {
    Snapshot s;
    for (int g = 0; g < gpus; ++g) {
        Gpu gpu;
        gpu.uuid = "GPU-" + std::to_string(g);
        gpu.total_bytes = gpu.free_bytes = 80 * gib;
        gpu.context_bytes = context;
        gpu.utilization_percent = 0;
        s.gpus.push_back(gpu);
    }
    return s;
}

inline Ticket wants(std::uint64_t gibibytes, int gpus = 1, int passes = 0) {
    return {me, gibibytes * gib, gpus, every_gpu, passes};
}

/// Adds a lease that has only reserved its memory, or (`held`) has allocated all of it.
inline void lease_on(Snapshot& s, int g, std::uint64_t bytes, bool held, std::uint32_t uid = somebody) {
    s.reservations.push_back({g, uid, bytes, held ? bytes : 0});
    if (!held) return;
    s.gpus[std::size_t(g)].free_bytes -= bytes;
    ++s.gpus[std::size_t(g)].processes;
}

inline void foreign_process_on(Snapshot& s, int g, std::uint64_t bytes, int utilization) {
    Gpu& gpu = s.gpus[std::size_t(g)];
    gpu.free_bytes -= bytes;
    ++gpu.processes;
    gpu.utilization_percent = utilization;
}

inline std::vector<Decision> decide(const Snapshot& s, const Rules& rules = {}) {
    return plan(s, rules, s.tickets.empty() ? 0 : s.tickets.size() - 1);
}
inline Decision only(Snapshot s, const Ticket& ticket, const Rules& rules = {}) {
    s.tickets = {ticket};
    return decide(s, rules).at(0);
}

}  // namespace glint::gpu::lease::test
