// Transfers of operands to a GPU and of results back, and processing in pieces that fit into the memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "arrays/gpu_state.hpp"

namespace glint::arrays {

/// Copies elements [first, first + n) of a host array to a buffer. Returns when the elements were read, except from
/// pinned memory.
template <class T>
void upload(const gpu::Stream& stream, gpu::Buffer<T>& to, const View<const T>& from, std::int64_t first,
            std::int64_t n);
/// Copies elements back to the host, and blocks until they are complete.
template <class T>
void download(const gpu::Stream& stream, const View<T>& to, const gpu::Buffer<T>& from, std::int64_t first,
              std::int64_t n);

/// An input whose parts are needed on the GPU. Uses them in place, or in a buffer of the size of a piece.
template <class T>
class Source {
  public:
    Source() = default;
    /// `operand` must outlive it.
    Source(const gpu::Stream& stream, const Operand<const T>& operand, std::int64_t most) : operand_(&operand) {
        if (operand.on_device())
            buffer_ = operand.device_array().buffer;
        else
            buffer_ = gpu::Buffer<T>(stream, std::size_t(most));
    }
    /// Returns the address of elements [first, first + n), uploaded if necessary, on `stream`.
    std::uint64_t read(const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        if (operand_->on_device()) return buffer_.read_on(stream) + std::uint64_t(first) * sizeof(T);
        upload(stream, buffer_, operand_->view(), first, n);
        return buffer_.read_on(stream);
    }

  private:
    const Operand<const T>* operand_ = nullptr;
    gpu::Buffer<T> buffer_;
};

/// A result whose parts are computed on the GPU.
template <class T>
class Sink {
  public:
    Sink() = default;
    /// `operand` must outlive it.
    Sink(const gpu::Stream& stream, const Operand<T>& operand, std::int64_t most) : operand_(&operand) {
        if (operand.on_device())
            buffer_ = operand.device_array().buffer;
        else
            buffer_ = gpu::Buffer<T>(stream, std::size_t(most));
    }
    std::uint64_t write(const gpu::Stream& stream, std::int64_t first) {
        return buffer_.write_on(stream) + (operand_->on_device() ? std::uint64_t(first) * sizeof(T) : 0);
    }
    /// Completes elements [first, first + n) on the host, if the result belongs there.
    void finish(const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        if (!operand_->on_device()) download(stream, operand_->view(), buffer_, first, n);
    }

  private:
    const Operand<T>* operand_ = nullptr;
    gpu::Buffer<T> buffer_;
};

/// How to divide a range.
struct Pieces {
    std::int64_t total = 0;
    std::int64_t bytes_each = 0;  ///< of buffers, for each element of the range
    std::int64_t granule = 1;     ///< pieces are multiples of this, except the last one
    bool overlap = false;         ///< two pieces simultaneously, each on its own stream
};

/// Returns n rounded down to whole granules, at least one granule.
inline std::int64_t whole_granules(std::int64_t n, const Pieces& pieces) {
    return std::max<std::int64_t>(1, n / pieces.granule) * pieces.granule;
}

/// Synchronizes; ignores errors.
void wait_quietly(const OnGpu::State& state) noexcept;

/// Returns a size with which pieces fit into the memory, and upload, kernel and download can overlap.
std::int64_t piece_size(const OnGpu::State& state, const Pieces& pieces);

/// Processes a range piece by piece: make(stream, most) -> PieceBuffers, the memory for a piece; start(slot, stream,
/// first, n) queues it; finish(slot, stream, first, n) waits if the host receives something. After an out-of-memory
/// error, continues with smaller pieces, from the first unfinished piece.
template <class Make, class Start, class Finish>
void in_pieces(OnGpu::State& state, const Pieces& pieces, const Make& make, const Start& start, const Finish& finish) {
    using PieceBuffers = decltype(make(state.stream, std::int64_t(0)));
    struct Flight {
        std::int64_t first, n;
        int slot;
    };
    std::int64_t done = 0;
    for (std::int64_t size = piece_size(state, pieces);; size = whole_granules(size / 2, pieces)) try {
            const int slot_count = pieces.overlap && size < pieces.total - done ? 2 : 1;
            const gpu::Stream* streams[] = {&state.stream, slot_count == 2 ? &state.second() : nullptr};
            std::vector<PieceBuffers> slots;
            for (int k = 0; k < slot_count; ++k)
                slots.push_back(make(*streams[k], std::min(size, pieces.total - done)));
            std::optional<Flight> flying;
            const auto land = [&] {
                if (!flying) return;
                finish(slots[flying->slot], *streams[flying->slot], flying->first, flying->n);
                done = flying->first + flying->n;
                flying.reset();
            };
            int turn = 0;
            for (std::int64_t first = done; first < pieces.total; first += size) {
                const Flight next{first, std::min(size, pieces.total - first), turn++ % slot_count};
                if (slot_count == 1) land();
                start(slots[next.slot], *streams[next.slot], next.first, next.n);
                land();
                flying = next;
            }
            land();
            return;
        } catch (const gpu::OutOfMemory&) {
            wait_quietly(state);
            if (size <= pieces.granule) throw;
        } catch (...) {
            wait_quietly(state);  // the caller may then reuse its memory
            throw;
        }
}

}  // namespace glint::arrays
