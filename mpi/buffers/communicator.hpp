// The state of a Communicator: two MPI communicators, and the pinned memory of staged messages.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "glint/mpi.hpp"

namespace glint::mpi::detail {

struct CommunicatorState {
    CommunicatorState(MPI_Comm communicator, Way way);
    ~CommunicatorState();

    /// Throws MpiError unless the result is MPI_SUCCESS.
    void check(int result, const char* call) const;
    void require_rank(int rank, const char* role) const;
    void find_neighbors();
    /// Two pieces of page-locked memory for copies of this context: one is copied while the other is sent.
    std::byte* pinned(const gpu::Context& context);

    static constexpr std::size_t piece_bytes = std::size_t(4) << 20;

    MPI_Comm own = MPI_COMM_NULL;      // for data and sizes
    MPI_Comm answers = MPI_COMM_NULL;  // for the receivers' sizes, which must not be mistaken for data
    int rank = 0, size = 1;
    bool direct = false;
    std::vector<bool> shares;           // by rank: whether messages with it may go through memory of a GPU
    std::uint64_t shared_messages = 0;  // number of messages that went through memory of a GPU

  private:
    std::shared_ptr<gpu::detail::ContextState> context_;
    gpu::Pinned<std::byte> pinned_;
};

}  // namespace glint::mpi::detail
