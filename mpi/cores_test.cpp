// Tests of how a node's ranks share its cores.
// SPDX-License-Identifier: MIT
#include "mpi/cores.hpp"

#include <gtest/gtest.h>

using namespace glint::mpi;

namespace {

/// CPUs [first, end).
CpuMask cpus(int first, int end) {
    CpuMask mask{};
    for (int cpu = first; cpu < end; ++cpu) mask[std::size_t(cpu / 64)] |= std::uint64_t(1) << (cpu % 64);
    return mask;
}

}  // namespace

TEST(Cores, ranks_that_are_not_bound_share_them) {
    EXPECT_EQ(share_of_threads({cpus(0, 64), cpus(0, 64), cpus(0, 64), cpus(0, 64)}, 2, 64), 16);
    EXPECT_EQ(share_of_threads({cpus(0, 200)}, 0, 200), 200);
}

TEST(Cores, a_rank_that_is_bound_has_its_own) {
    EXPECT_EQ(share_of_threads({cpus(0, 8), cpus(8, 10)}, 0, 8), 8);
    EXPECT_EQ(share_of_threads({cpus(0, 8), cpus(8, 10)}, 1, 2), 2);
    EXPECT_EQ(share_of_threads({cpus(0, 8), cpus(0, 8), cpus(8, 16)}, 1, 8), 4) << "bound in pairs";
}

TEST(Cores, a_quota_is_shared_too) { EXPECT_EQ(share_of_threads({cpus(0, 64), cpus(0, 64)}, 0, 10), 5); }

TEST(Cores, there_is_always_one) {
    EXPECT_EQ(share_of_threads({cpus(0, 2), cpus(0, 2), cpus(0, 2), cpus(0, 2)}, 3, 2), 1);
    EXPECT_EQ(share_of_threads({CpuMask{}, CpuMask{}}, 0, 6), 3) << "where masks are not known";
}
