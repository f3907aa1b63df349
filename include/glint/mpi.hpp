// Buffers of the GPU runtime in MPI calls: from GPU to GPU where the MPI can, staged through pinned memory where not.
// SPDX-License-Identifier: MIT
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "glint/error.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint::mpi {

/// An MPI call failed. `code` is MPI's, `what()` names the call, the ranks and MPI's own words.
class MpiError : public Error {
  public:
    MpiError(int result, const std::string& message) : Error(message), code(result) {}
    const int code;
};

/// Whether this MPI says, as it runs, that it takes addresses of GPU memory (Open MPI's MPIX_Query_cuda_support; an MPI
/// that cannot be asked does not).
bool cuda_aware();

/// How the bytes go. All ranks of a communicator must choose the same.
enum class Way {
    automatic,  ///< direct where cuda_aware(), else staged
    direct,     ///< MPI is given the GPU's addresses, or those of Managed::buffer()
    staged      ///< through two pinned pieces of 4 MiB, copies beside messages
};

enum class Reduction { sum, min, max };

namespace detail {
struct CommunicatorState;
enum class Number { float32, float64, int32 };
template <class T>
constexpr Number number_of() {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>,
                  "allreduce takes float, double and int");
    return std::is_same_v<T, float> ? Number::float32 : std::is_same_v<T, double> ? Number::float64 : Number::int32;
}
/// Elements of a Buffer, without their type.
struct Piece {
    gpu::detail::Allocation& memory;
    std::size_t offset, count, element_bytes;  // offset: bytes
};
template <class T>
Piece piece(const gpu::Buffer<T>& buffer) {
    return {buffer.allocation(), buffer.byte_offset(), buffer.size(), sizeof(T)};
}
}  // namespace detail

/// A duplicate of an MPI communicator: its messages meet no others, and its errors are thrown. Made, and destroyed, by all
/// its ranks together, between MPI_Init and MPI_Finalize. Used by one thread at a time, as MPI allows.
class Communicator {
  public:
    /// Throws MpiError.
    explicit Communicator(MPI_Comm communicator, Way way = Way::automatic);
    int rank() const;
    int size() const;
    bool direct() const;
    MPI_Comm native() const;
    detail::CommunicatorState& state() const { return *state_; }

  private:
    std::shared_ptr<detail::CommunicatorState> state_;
};

namespace detail {
void send(const gpu::Stream& stream, const Piece& from, int to_rank, int tag, const Communicator& communicator);
void receive(const gpu::Stream& stream, const Piece& to, int from_rank, int tag, const Communicator& communicator);
void broadcast(const gpu::Stream& stream, const Piece& data, int root, const Communicator& communicator);
void allreduce(const gpu::Stream& stream, const Piece& data, Number number, Reduction reduction,
               const Communicator& communicator);
void gather(const gpu::Stream& stream, const Piece& from, const Piece* to, int root, const Communicator& communicator);
}  // namespace detail

// Each takes its place in the stream: what was put into it before is done before MPI reads or writes, what is put into it
// later finds the result. The host waits, for the stream and then for MPI, as in MPI's own blocking calls. Ranks may use
// different GPUs, or one. All throw MpiError, and what a Stream and a Buffer throw; OptionError for a rank that is none.
//
//     glint::mpi::Communicator all(MPI_COMM_WORLD);
//     glint::mpi::allreduce(stream, counts, glint::mpi::Reduction::sum, all);

/// To one other rank, once it receives. Where it receives another number of elements, nothing is sent, and both get an
/// MpiError.
template <class T>
void send(const gpu::Stream& stream, const gpu::Buffer<T>& from, int to_rank, const Communicator& communicator,
          int tag = 0) {
    detail::send(stream, detail::piece(from), to_rank, tag, communicator);
}

/// Fills the buffer.
template <class T>
void receive(const gpu::Stream& stream, gpu::Buffer<T>& to, int from_rank, const Communicator& communicator,
             int tag = 0) {
    detail::receive(stream, detail::piece(to), from_rank, tag, communicator);
}

/// The root's elements, to all. Equally many on all ranks.
template <class T>
void broadcast(const gpu::Stream& stream, gpu::Buffer<T>& data, int root, const Communicator& communicator) {
    detail::broadcast(stream, detail::piece(data), root, communicator);
}

/// Element by element over all ranks, in place: float, double or int. Equally many on all ranks. Sums of floating-point
/// numbers depend on the order in which MPI takes the ranks, which is MPI's affair.
template <class T>
void allreduce(const gpu::Stream& stream, gpu::Buffer<T>& data, Reduction reduction, const Communicator& communicator) {
    detail::allreduce(stream, detail::piece(data), detail::number_of<T>(), reduction, communicator);
}

/// All ranks' elements, one rank after the other, to the root; equally many from each. `to`, used on the root alone, has
/// room for all, else OptionError.
template <class T>
void gather(const gpu::Stream& stream, const gpu::Buffer<T>& from, gpu::Buffer<T>& to, int root,
            const Communicator& communicator) {
    if (communicator.rank() != root) return detail::gather(stream, detail::piece(from), nullptr, root, communicator);
    const detail::Piece all = detail::piece(to);
    detail::gather(stream, detail::piece(from), &all, root, communicator);
}

}  // namespace glint::mpi
