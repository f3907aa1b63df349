// The MPI calls that glint-mpi uses, without MPI's own types, which differ between MPI implementations.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::mpi {

/// The rank of this process among all processes (MPI_COMM_WORLD) and among those of its node.
struct RankInfo {
    int rank = 0, size = 1, rank_on_node = 0, size_of_node = 1;
    char host[1024] = {};
};

/// A table of plain C functions: in the archive, a library for the MPI that was found fills it (find_calls.cpp).
/// Collective calls sleep while they wait. Only the thread that called `begin` may call the other functions.
struct Calls {
    /// Returns false if this MPI does not support MPI_THREAD_FUNNELED.
    bool (*begin)(int* argc, char*** argv, RankInfo* place);
    void (*end)();
    void (*abort)(int exit_code);
    void (*broadcast)(void* bytes, int count);                        ///< rank 0's to all
    void (*gather_on_node)(const void* bytes, int count, void* all);  ///< to all ranks of the node
    void (*gather_counts)(int count, int* counts);                    ///< to rank 0
    void (*gather)(const void* bytes, int count, void* all, const int* counts, const int* offsets);  ///< to rank 0
    void (*send)(int rank, const void* bytes, int count);
    bool (*receive)(int* rank, void* bytes, int count);  ///< false if no message has arrived
};

/// Returns the calls of the MPI that glint-mpi is linked to, or of the MPI found at start. Throws Error if there is
/// none.
const Calls& calls();

}  // namespace glint::mpi

/// Defined in calls.cpp. The archive's libraries export it by this name.
extern "C" const glint::mpi::Calls glint_mpi_calls;
