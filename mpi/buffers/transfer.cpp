// Transfers of buffers, in one of three ways:
// - direct: MPI gets the GPU's address;
// - staged: through two pinned pieces in turn;
// - shared: through GPU memory that sender and receiver have opened (message.cpp).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <climits>
#include <functional>

#include "gpu/context_state.hpp"
#include "gpu/text.hpp"
#include "mpi/buffers/message.hpp"

namespace glint::mpi::detail {
namespace {

using gpu::text;

/// What MPI does with the memory: reads it, writes it, or both.
enum class Flow { out, in, both };

/// An MPI call that sends or receives `count` elements at an address.
using Call = std::function<void(void* at, int count)>;

void* as_pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

/// Returns the address for MPI. First waits for all work in the stream, because MPI does not wait for streams.
void* address_of(const gpu::Stream& stream, const Piece& piece, Flow flow) {
    const std::uint64_t address = gpu::detail::use(piece.memory, stream, flow != Flow::out) + piece.offset;
    stream.synchronize();
    return as_pointer(address);
}

void each_direct(const gpu::Stream& stream, const Piece& piece, Flow flow, const Call& call) {
    auto* const begin = static_cast<std::byte*>(address_of(stream, piece, flow));
    const gpu::detail::Current current(
        stream.context().state());  // CUDA-aware MPI assumes that the address belongs to the current context
    const std::size_t most = std::size_t(INT_MAX) / piece.element_bytes;
    for (std::size_t done = 0; done < piece.count || piece.count == 0;) {
        const std::size_t count = std::min(most, piece.count - done);
        call(begin + done * piece.element_bytes, int(count));
        done += count;
        if (piece.count == 0) return;  // an empty message is sent, too
    }
}

/// Synchronises a stream when the scope ends, even by an exception, because the next message reuses the pinned pieces.
class SynchronizeAtExit {
  public:
    explicit SynchronizeAtExit(const gpu::Stream& stream) : stream_(stream) {}
    ~SynchronizeAtExit() {
        try {
            stream_.synchronize();
        } catch (const Error&) {  // the scope is being left by an exception already
        }
    }

  private:
    const gpu::Stream& stream_;
};

void each_staged(const gpu::Stream& stream, CommunicatorState& state, const Piece& piece, Flow flow, const Call& call) {
    std::byte* const pinned = state.pinned(stream.context());
    const std::size_t most = std::max<std::size_t>(CommunicatorState::piece_bytes / piece.element_bytes, 1);
    const std::size_t pieces = std::max<std::size_t>((piece.count + most - 1) / most, 1);
    gpu::Event fetched[2] = {gpu::Event(stream.context()), gpu::Event(stream.context())};
    gpu::Event brought[2] = {gpu::Event(stream.context()), gpu::Event(stream.context())};
    const SynchronizeAtExit synchronize(stream);
    const auto count_of = [&](std::size_t k) { return std::min(most, piece.count - k * most); };
    const auto half = [&](std::size_t k) { return pinned + k % 2 * CommunicatorState::piece_bytes; };
    const auto offset = [&](std::size_t k) { return piece.offset + k * most * piece.element_bytes; };
    const auto fetch = [&](std::size_t k) {
        if (k >= 2) brought[k % 2].synchronize();
        if (flow == Flow::in) return;
        gpu::detail::download(stream, half(k), piece.memory, offset(k), count_of(k) * piece.element_bytes);
        fetched[k % 2].record(stream);
    };
    fetch(0);
    for (std::size_t k = 0; k < pieces; ++k) {
        if (k + 1 < pieces) fetch(k + 1);
        fetched[k % 2].synchronize();
        call(half(k), int(count_of(k)));
        if (flow == Flow::out) continue;
        gpu::detail::upload(stream, piece.memory, offset(k), half(k), count_of(k) * piece.element_bytes);
        brought[k % 2].record(stream);
    }
    stream.synchronize();
}

void each(const gpu::Stream& stream, const Communicator& communicator, const Piece& piece, Flow flow,
          const Call& call) {
    CommunicatorState& state = communicator.state();
    if (piece.element_bytes > CommunicatorState::piece_bytes)
        throw OptionError(text("elements of ", piece.element_bytes,
                               " bytes are larger than a staged piece: ", CommunicatorState::piece_bytes));
    state.direct ? each_direct(stream, piece, flow, call) : each_staged(stream, state, piece, flow, call);
}

MPI_Datatype datatype_of(Number number) {
    return number == Number::float32 ? MPI_FLOAT : number == Number::float64 ? MPI_DOUBLE : MPI_INT;
}

MPI_Op operation_of(Reduction reduction) {
    return reduction == Reduction::sum ? MPI_SUM : reduction == Reduction::min ? MPI_MIN : MPI_MAX;
}

/// An MPI datatype of a given number of bytes; freed by the destructor.
class Element {
  public:
    Element(const CommunicatorState& state, std::size_t bytes) {
        state.check(MPI_Type_contiguous(int(bytes), MPI_BYTE, &type_), "MPI_Type_contiguous");
        state.check(MPI_Type_commit(&type_), "MPI_Type_commit");
    }
    ~Element() { MPI_Type_free(&type_); }
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    operator MPI_Datatype() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Compares the sizes on both sides before any data is sent. MPI would report a mismatch to the receiver only, and only
/// for one piece of the message.
void require_equal(const CommunicatorState& state, int from_rank, std::uint64_t sent, int to_rank,
                   std::uint64_t wanted) {
    if (sent == wanted) return;
    throw MpiError(MPI_ERR_TRUNCATE, text("rank ", state.rank, " of ", state.size, ": rank ", from_rank, " sends ",
                                          sent, " elements, where rank ", to_rank, " receives ", wanted));
}

}  // namespace

void send(const gpu::Stream& stream, const Piece& from, int to_rank, int tag, const Communicator& communicator) {
    CommunicatorState& state = communicator.state();
    state.require_rank(to_rank, "the receiving");
    const Element element(state, from.element_bytes);
    const Message message{stream, from, to_rank, tag, state};
    std::optional<gpu::ExportedMemory> memory = memory_for(message);
    Offer offer{from.count, memory ? shared_bytes : 0, memory ? memory->handle() : gpu::IpcHandle()};
    Answer answer;
    message.send(&offer, sizeof offer, state.own);
    message.receive(&answer, sizeof answer, state.answers);
    require_equal(state, state.rank, offer.count, to_rank, answer.count);
    if (memory && answer.opened) return send_shared(message, *memory);
    memory.reset();
    each(stream, communicator, from, Flow::out,
         [&](void* at, int count) { state.check(MPI_Send(at, count, element, to_rank, tag, state.own), "MPI_Send"); });
}

void receive(const gpu::Stream& stream, const Piece& to, int from_rank, int tag, const Communicator& communicator) {
    CommunicatorState& state = communicator.state();
    state.require_rank(from_rank, "the sending");
    const Element element(state, to.element_bytes);
    const Message message{stream, to, from_rank, tag, state};
    Offer offer;
    message.receive(&offer, sizeof offer, state.own);
    std::optional<gpu::ImportedMemory> memory = opened(message, offer);
    const Answer answer{to.count, memory.has_value()};
    message.send(&answer, sizeof answer, state.answers);
    require_equal(state, from_rank, offer.count, state.rank, answer.count);
    if (memory) return receive_shared(message, memory);
    each(stream, communicator, to, Flow::in, [&](void* at, int count) {
        state.check(MPI_Recv(at, count, element, from_rank, tag, state.own, MPI_STATUS_IGNORE), "MPI_Recv");
    });
}

void broadcast(const gpu::Stream& stream, const Piece& data, int root, const Communicator& communicator) {
    const CommunicatorState& state = communicator.state();
    state.require_rank(root, "the root's");
    const Element element(state, data.element_bytes);
    each(stream, communicator, data, state.rank == root ? Flow::out : Flow::in,
         [&](void* at, int count) { state.check(MPI_Bcast(at, count, element, root, state.own), "MPI_Bcast"); });
}

void allreduce(const gpu::Stream& stream, const Piece& data, Number number, Reduction reduction,
               const Communicator& communicator) {
    const CommunicatorState& state = communicator.state();
    each(stream, communicator, data, Flow::both, [&](void* at, int count) {
        state.check(MPI_Allreduce(MPI_IN_PLACE, at, count, datatype_of(number), operation_of(reduction), state.own),
                    "MPI_Allreduce");
    });
}

namespace {

void gather_direct(const gpu::Stream& stream, const Piece& from, const Piece* to, int root,
                   const CommunicatorState& state) {
    const Element element(state, from.element_bytes);
    void* const source = address_of(stream, from, Flow::out);
    void* const target = to ? address_of(stream, *to, Flow::in) : nullptr;
    const gpu::detail::Current current(stream.context().state());
    state.check(MPI_Gather(source, int(from.count), element, target, int(from.count), element, root, state.own),
                "MPI_Gather");
}

/// Gathers in rounds: each transfers as many elements per rank as fit into one pinned piece for all ranks.
void gather_staged(const gpu::Stream& stream, const Piece& from, const Piece* to, int root, CommunicatorState& state) {
    std::byte* const sent = state.pinned(stream.context());
    std::byte* const all = sent + CommunicatorState::piece_bytes;
    const std::size_t bytes = from.element_bytes, ranks = std::size_t(state.size);
    const std::size_t most = CommunicatorState::piece_bytes / (bytes * ranks);
    if (most == 0) throw OptionError(text("elements of ", bytes, " bytes cannot be gathered from ", ranks, " ranks"));
    const Element element(state, bytes);
    const SynchronizeAtExit synchronize(stream);
    for (std::size_t done = 0; done < from.count; done += most) {
        const std::size_t count = std::min(most, from.count - done);
        gpu::detail::download(stream, sent, from.memory, from.offset + done * bytes, count * bytes);
        stream.synchronize();
        state.check(MPI_Gather(sent, int(count), element, all, int(count), element, root, state.own), "MPI_Gather");
        for (std::size_t rank = 0; to && rank < ranks; ++rank)
            gpu::detail::upload(stream, to->memory, to->offset + (rank * from.count + done) * bytes,
                                all + rank * count * bytes, count * bytes);
    }
    stream.synchronize();
}

}  // namespace

void gather(const gpu::Stream& stream, const Piece& from, const Piece* to, int root, const Communicator& communicator) {
    CommunicatorState& state = communicator.state();
    state.require_rank(root, "the root's");
    if (from.count > std::size_t(INT_MAX))
        throw OptionError(text(from.count, " elements exceed what MPI can count: gather ", INT_MAX, " at a time"));
    if (to && to->count / std::size_t(state.size) < from.count)
        throw OptionError(text("a buffer of ", to->count, " elements has no room for ", from.count, " from each of ",
                               state.size, " ranks"));
    state.direct ? gather_direct(stream, from, to, root, state) : gather_staged(stream, from, to, root, state);
}

}  // namespace glint::mpi::detail
