// A message between two ranks through GPU memory that both have opened: the offer, the answer and the transfer.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "glint/gpu/ipc.hpp"
#include "mpi/buffers/communicator.hpp"

namespace glint::mpi::detail {

/// Sent before the data; the receiver replies with an Answer.
struct Offer {
    std::uint64_t count = 0, shared_bytes = 0;  // 0: no memory is offered
    gpu::IpcHandle handle;
};
struct Answer {
    std::uint64_t count = 0, opened = 0;
};

/// One side of a message: its data and stream, and the other rank.
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

/// For the sender. Returns memory for the message; nullopt if copies through the host are faster, or if the driver or
/// the memory limit refuses.
std::optional<gpu::ExportedMemory> memory_for(const Message& message);
/// For the receiver. Returns the offered memory; nullopt if none was offered, it cannot be opened, or the sizes differ.
std::optional<gpu::ImportedMemory> opened(const Message& message, const Offer& offer);

/// The receiver has closed the memory when send_shared() returns.
void send_shared(const Message& message, gpu::ExportedMemory& memory);
void receive_shared(const Message& message, std::optional<gpu::ImportedMemory>& memory);

}  // namespace glint::mpi::detail
