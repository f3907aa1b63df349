// MPI calls on GPU buffers. Data go directly from GPU to GPU with a CUDA-aware MPI, or between two processes of one
// node through GPU memory that both open. Otherwise, data are staged through pinned memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "glint/error.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint::mpi {

/// An MPI call failed. `code` is MPI's error code; `what()` names the call and the ranks and quotes MPI's message.
class MpiError : public Error {
  public:
    MpiError(int result, const std::string& message) : Error(message), code(result) {}
    const int code;
};

/// Returns whether this MPI is CUDA-aware, i.e. accepts addresses of GPU memory, by MPIX_Query_cuda_support of Open
/// MPI. False for an MPI without this query.
bool cuda_aware();

/// How data are transferred. All ranks of a communicator must choose the same.
enum class Way {
    /// `direct` if cuda_aware(). Else send() and receive() within a node use shared GPU memory, and all other calls are
    /// `staged`.
    automatic,
    direct,  ///< MPI gets the addresses of the GPU memory, or of Managed::buffer()
    staged   ///< through two pinned pieces of 4 MiB; copies and messages overlap
};

/// How allreduce() combines elements.
enum class Reduction { sum, min, max };

namespace detail {
struct CommunicatorState;
/// A type of elements.
enum class Number { float32, float64, int32 };
/// Returns the Number of the type T.
template <class T>
constexpr Number number_of() {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>,
                  "allreduce takes float, double and int");
    return std::is_same_v<T, float> ? Number::float32 : std::is_same_v<T, double> ? Number::float64 : Number::int32;
}
/// A range of elements of a Buffer, without their type.
struct Piece {
    gpu::detail::Allocation& memory;
    std::size_t offset, count, element_bytes;  // offset: bytes
};
/// Returns the elements of a buffer.
template <class T>
Piece piece(const gpu::Buffer<T>& buffer) {
    return {buffer.allocation(), buffer.byte_offset(), buffer.size(), sizeof(T)};
}
}  // namespace detail

/// Owns a duplicate of an MPI communicator, so that its messages are not mixed with those of other code. Throws MPI
/// errors as exceptions. Construction and destruction are collective, between MPI_Init and MPI_Finalize. Not
/// thread-safe: use from one thread at a time, within MPI's thread level. Copies share it.
class Communicator {
  public:
    /// Throws MpiError.
    explicit Communicator(MPI_Comm communicator, Way way = Way::automatic);
    int rank() const;
    int size() const;
    bool direct() const;  ///< whether MPI gets the addresses of GPU memory
    /// Returns how many messages of this rank used memory of a GPU that both processes had opened (glint/gpu/ipc.hpp).
    /// With Way::automatic, send() and receive() within a node do so for 1 MiB or more, if the drivers allow it.
    std::uint64_t shared_messages() const;
    MPI_Comm native() const;
    detail::CommunicatorState& state() const { return *state_; }

  private:
    std::shared_ptr<detail::CommunicatorState> state_;
};

namespace detail {
/// The calls below, for elements of any type.
void send(const gpu::Stream& stream, const Piece& from, int to_rank, int tag, const Communicator& communicator);
void receive(const gpu::Stream& stream, const Piece& to, int from_rank, int tag, const Communicator& communicator);
void broadcast(const gpu::Stream& stream, const Piece& data, int root, const Communicator& communicator);
void allreduce(const gpu::Stream& stream, const Piece& data, Number number, Reduction reduction,
               const Communicator& communicator);
void gather(const gpu::Stream& stream, const Piece& from, const Piece* to, int root, const Communicator& communicator);
}  // namespace detail

// The following calls are ordered in the stream: work enqueued before is complete before MPI reads or writes, and work
// enqueued later sees the result. They block the host until the stream and MPI are done, as MPI's own blocking calls
// do. Ranks may use different GPUs or the same one. All throw MpiError, the exceptions of Stream and Buffer, and
// OptionError for a rank outside the communicator.
//
//     glint::mpi::Communicator all(MPI_COMM_WORLD);
//     glint::mpi::allreduce(stream, counts, glint::mpi::Reduction::sum, all);

/// Sends to one rank, and blocks until that rank receives. If the receiver expects another number of elements, nothing
/// is sent and both ranks throw MpiError.
template <class T>
void send(const gpu::Stream& stream, const gpu::Buffer<T>& from, int to_rank, const Communicator& communicator,
          int tag = 0) {
    detail::send(stream, detail::piece(from), to_rank, tag, communicator);
}

/// Receives exactly `to.size()` elements from one rank.
template <class T>
void receive(const gpu::Stream& stream, gpu::Buffer<T>& to, int from_rank, const Communicator& communicator,
             int tag = 0) {
    detail::receive(stream, detail::piece(to), from_rank, tag, communicator);
}

/// Copies the root's elements to all ranks. Collective; the number of elements must be the same on all ranks.
template <class T>
void broadcast(const gpu::Stream& stream, gpu::Buffer<T>& data, int root, const Communicator& communicator) {
    detail::broadcast(stream, detail::piece(data), root, communicator);
}

/// Reduces element by element over all ranks, in place: float, double or int. Collective; the number of elements must
/// be the same on all ranks. MPI chooses the order of summation, on which floating-point sums depend.
template <class T>
void allreduce(const gpu::Stream& stream, gpu::Buffer<T>& data, Reduction reduction, const Communicator& communicator) {
    detail::allreduce(stream, detail::piece(data), detail::number_of<T>(), reduction, communicator);
}

/// Collects all ranks' elements on the root, in the order of ranks. Collective; the number of elements must be the same
/// on all ranks. `to` is used on the root only; throws OptionError if it is too small for all elements.
template <class T>
void gather(const gpu::Stream& stream, const gpu::Buffer<T>& from, gpu::Buffer<T>& to, int root,
            const Communicator& communicator) {
    if (communicator.rank() != root) return detail::gather(stream, detail::piece(from), nullptr, root, communicator);
    const detail::Piece all = detail::piece(to);
    detail::gather(stream, detail::piece(from), &all, root, communicator);
}

}  // namespace glint::mpi
