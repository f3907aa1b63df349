// How the ranks of one node share its cores.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint::mpi {

constexpr int max_cpus = 1024;
/// CPU affinity: one bit for each CPU that a process may run on. All zero if the system does not report it.
using CpuMask = std::array<std::uint64_t, max_cpus / 64>;

/// Returns the affinity mask of this process.
CpuMask cpus_of_this_process();

/// Returns the number of threads for rank `here` of the node's ranks; at least 1. `masks` are the affinity masks of the
/// ranks: a CPU that k ranks may use counts 1/k. `usable` is the result of environment::threads(). If it is less than
/// the number of CPUs in the mask, a cgroup quota applies, which all ranks of the node share.
int share_of_threads(const std::vector<CpuMask>& masks, std::size_t here, int usable);

}  // namespace glint::mpi
