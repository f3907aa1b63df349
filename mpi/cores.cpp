// Affinity masks, and each rank's share of the CPUs in them.
// SPDX-License-Identifier: MIT
#include "mpi/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>

namespace glint::mpi {
namespace {

bool holds(const CpuMask& mask, int cpu) { return mask[std::size_t(cpu / 64)] >> (cpu % 64) & 1; }

}  // namespace

CpuMask cpus_of_this_process() {
    static_assert(CPU_SETSIZE == max_cpus);
    cpu_set_t set;
    CPU_ZERO(&set);
    CpuMask mask{};
    if (sched_getaffinity(0, sizeof set, &set) != 0) return mask;
    for (int cpu = 0; cpu < max_cpus; ++cpu)
        if (CPU_ISSET(cpu, &set)) mask[std::size_t(cpu / 64)] |= std::uint64_t(1) << (cpu % 64);
    return mask;
}

int share_of_threads(const std::vector<CpuMask>& masks, std::size_t here, int usable) {
    int mine = 0;
    double share = 0;
    for (int cpu = 0; cpu < max_cpus; ++cpu) {
        if (!holds(masks[here], cpu)) continue;
        ++mine;
        share +=
            1.0 / double(std::count_if(masks.begin(), masks.end(), [&](const CpuMask& m) { return holds(m, cpu); }));
    }
    const double quota = double(usable) / double(masks.size());
    if (mine == 0) share = quota;
    if (usable < mine) share = std::min(share, quota);
    return std::max(1, int(share + 1e-6));
}

}  // namespace glint::mpi
