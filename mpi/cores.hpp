// How the ranks of one node share its cores.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint::mpi {

constexpr int most_cpus = 1024;
/// CPU affinity: one bit for each CPU that a process may run on; all zero where the system does not tell.
using CpuMask = std::array<std::uint64_t, most_cpus / 64>;

/// The affinity mask of this process.
CpuMask cpus_of_this_process();

/// Number of threads for rank `here` of the node's ranks, whose affinity masks are `masks`: a CPU that k ranks may use
/// counts 1/k; at least 1. `usable` is the result of environment::threads(): where it is less than the mask's number of
/// CPUs, a cgroup quota applies, which all ranks of the node share.
int share_of_threads(const std::vector<CpuMask>& masks, std::size_t here, int usable);

}  // namespace glint::mpi
