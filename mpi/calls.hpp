// The calls of MPI that glint-mpi makes, without MPI's own types, which differ from one MPI to another.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::mpi {

/// Where this process is among all of them (MPI_COMM_WORLD) and among those of its node.
struct RankInfo {
    int rank = 0, size = 1, rank_on_node = 0, size_of_node = 1;
    char host[1024] = {};
};

/// Plain C: in the archive another library, compiled for the MPI that is found, fills it (find_calls.cpp). Collective calls sleep while
/// they wait, and only the thread that called `begin` may call the others.
struct Calls {
    /// False: this MPI has no MPI_THREAD_FUNNELED.
    bool (*begin)(int* argc, char*** argv, RankInfo* place);
    void (*end)();
    void (*abort)(int exit_code);
    void (*broadcast)(void* bytes, int count);                        ///< rank 0's to all
    void (*gather_on_node)(const void* bytes, int count, void* all);  ///< to all ranks of the node
    void (*gather_counts)(int count, int* counts);                    ///< to rank 0
    void (*gather)(const void* bytes, int count, void* all, const int* counts, const int* offsets);  ///< to rank 0
    void (*send)(int rank, const void* bytes, int count);
    bool (*receive)(int* rank, void* bytes, int count);  ///< a message that has arrived; false: none has
};

/// Those of the MPI that glint-mpi is linked to, or of the one that is found; throws Error where there is none.
const Calls& calls();

}  // namespace glint::mpi

/// Of calls.cpp; its name in the archive's libraries, too.
extern "C" const glint::mpi::Calls glint_mpi_calls;
