// A message from one rank to another: its offer, its answer, and its way through memory of a GPU that both have opened.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "glint/gpu/ipc.hpp"
#include "mpi/buffers/communicator.hpp"

namespace glint::mpi::detail {

/// What comes before the data, and what is answered.
struct Offer {
    std::uint64_t count = 0, shared_bytes = 0;  // 0: no memory is offered
    gpu::IpcHandle handle;
};
struct Answer {
    std::uint64_t count = 0, opened = 0;
};

/// A message between two ranks: where it is, and with whom.
struct Message {
    const gpu::Stream& stream;
    const Piece& data;
    int rank, tag;
    CommunicatorState& state;

    void send(const void* bytes, std::size_t count, MPI_Comm in) const {
        state.check(MPI_Send(bytes, int(count), MPI_BYTE, rank, tag, in), "MPI_Send");
    }
    void receive(void* bytes, std::size_t count, MPI_Comm in) const {
        state.check(MPI_Recv(bytes, int(count), MPI_BYTE, rank, tag, in, MPI_STATUS_IGNORE), "MPI_Recv");
    }
};

/// Two pieces, filled in turn.
constexpr std::size_t shared_bytes = 2 * CommunicatorState::piece_bytes;

/// The sender's: memory for the message; none where it does not pay, or where the driver or the limit refuses.
std::optional<gpu::ExportedMemory> memory_for(const Message& message);
/// The receiver's: the memory that it was offered; none if there is none, it cannot be opened, or the sizes differ.
std::optional<gpu::ImportedMemory> opened(const Message& message, const Offer& offer);

/// The receiver has closed the memory when send_shared() returns.
void send_shared(const Message& message, gpu::ExportedMemory& memory);
void receive_shared(const Message& message, std::optional<gpu::ImportedMemory>& memory);

}  // namespace glint::mpi::detail
