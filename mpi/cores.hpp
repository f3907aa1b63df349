// How ranks of one node share its cores.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint::mpi {

constexpr int most_cpus = 1024;
/// A bit for each CPU that a process may run on; all zero where it cannot be known.
using CpuMask = std::array<std::uint64_t, most_cpus / 64>;

CpuMask cpus_of_this_process();

/// Threads for rank `here` of those on a node: of each CPU that several may use, its share; at least 1. `usable` is what
/// environment::usable_threads says: where it is less than the mask's CPUs, a quota holds, which all share.
int share_of_threads(const std::vector<CpuMask>& masks, std::size_t here, int usable);

}  // namespace glint::mpi
