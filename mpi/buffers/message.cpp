// Messages through two pieces of GPU memory that sender and receiver have opened.
//
// The sender sends the size of the message and offers memory. The receiver answers with its own size, and whether it
// could open the memory. Only then are data sent. The memory lives for one message, so communicators, contexts and the
// peers' processes may end in any order.
// SPDX-License-Identifier: MIT
#include "mpi/buffers/message.hpp"

#include <algorithm>

namespace glint::mpi::detail {
namespace {

// For smaller messages, opening the memory takes longer than copying through the host.
constexpr std::size_t min_shared_bytes = std::size_t(1) << 20;

/// Calls copy(k, bytes in the shared memory, bytes in the data, number) for each piece.
template <class Copy>
std::size_t each_shared(const Piece& data, const Copy& copy) {
    constexpr std::size_t piece = CommunicatorState::piece_bytes;
    const std::size_t all = data.count * data.element_bytes, pieces = (all + piece - 1) / piece;
    for (std::size_t k = 0; k < pieces; ++k)
        copy(k, k % 2 * piece, data.offset + k * piece, std::min(piece, all - k * piece));
    return pieces;
}

}  // namespace

/// Fills a piece again when the receiver has emptied it. Returns when the receiver has closed the memory.
void send_shared(const Message& message, gpu::ExportedMemory& memory) {
    char emptied = 0;
    const auto wait = [&] { message.receive(&emptied, 1, message.state.answers); };
    const std::size_t pieces =
        each_shared(message.data, [&](std::size_t k, std::size_t to, std::size_t from, std::size_t n) {
            if (k >= 2) wait();
            gpu::detail::copy(message.stream, memory.buffer().allocation(), to, message.data.memory, from, n);
            message.stream.synchronize();
            message.send(&emptied, 1, message.state.own);
        });
    for (std::size_t k = 0; k < std::min<std::size_t>(pieces, 2); ++k) wait();
    ++message.state.shared_messages;
}

void receive_shared(const Message& message, std::optional<gpu::ImportedMemory>& memory) {
    const std::size_t all = message.data.count * message.data.element_bytes;
    std::size_t done = 0;
    each_shared(message.data, [&](std::size_t, std::size_t from, std::size_t to, std::size_t n) {
        char filled = 0;
        message.receive(&filled, 1, message.state.own);
        gpu::detail::copy(message.stream, message.data.memory, to, memory->buffer().allocation(), from, n);
        message.stream.synchronize();
        if ((done += n) == all) memory.reset();
        message.send(&filled, 1, message.state.answers);
    });
    ++message.state.shared_messages;
}

std::optional<gpu::ExportedMemory> memory_for(const Message& message) {
    const bool pays = message.data.count * message.data.element_bytes >= min_shared_bytes;
    if (pays && message.state.shares[std::size_t(message.rank)]) try {
            return gpu::ExportedMemory(message.stream, shared_bytes);
        } catch (const gpu::DeviceLost&) {
            throw;
        } catch (const gpu::GpuError&) {  // then through the host
        }
    return {};
}

std::optional<gpu::ImportedMemory> opened(const Message& message, const Offer& offer) {
    if (offer.shared_bytes == shared_bytes && offer.count == message.data.count) try {
            return std::optional<gpu::ImportedMemory>(std::in_place, message.stream, offer.handle, shared_bytes);
        } catch (const gpu::DeviceLost&) {
            throw;
        } catch (const gpu::GpuError&) {  // then through the host
        }
    return {};
}

}  // namespace glint::mpi::detail
