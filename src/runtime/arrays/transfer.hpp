// Transfers of operands to a GPU and of results back, and processing in pieces that fit into the memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "arrays/gpu_state.hpp"

namespace glint::arrays {

/// Elements [first, first + n) of a host's array to a buffer; returns when they were read, but from pinned memory.
template <class T>
void upload(const gpu::Stream& stream, gpu::Buffer<T>& to, const View<const T>& from, std::int64_t first,
            std::int64_t n);
/// And back; the host waits.
template <class T>
void download(const gpu::Stream& stream, const View<T>& to, const gpu::Buffer<T>& from, std::int64_t first,
              std::int64_t n);

/// An input of which parts are needed on the GPU: in place, or in a buffer of the size of a piece.
template <class T>
class Source {
  public:
    Source() = default;
    /// `operand` must stay.
    Source(const gpu::Stream& stream, const Operand<const T>& operand, std::int64_t most) : operand_(&operand) {
        if (operand.on_device())
            buffer_ = operand.device_array().buffer;
        else
            buffer_ = gpu::Buffer<T>(stream, std::size_t(most));
    }
    /// The address of elements [first, first + n), uploaded if need be, on `stream`.
    std::uint64_t read(const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        if (operand_->on_device()) return buffer_.read_on(stream) + std::uint64_t(first) * sizeof(T);
        upload(stream, buffer_, operand_->view(), first, n);
        return buffer_.read_on(stream);
    }

  private:
    const Operand<const T>* operand_ = nullptr;
    gpu::Buffer<T> buffer_;
};

/// A result of which parts are made on the GPU.
template <class T>
class Sink {
  public:
    Sink() = default;
    /// `operand` must stay.
    Sink(const gpu::Stream& stream, const Operand<T>& operand, std::int64_t most) : operand_(&operand) {
        if (operand.on_device())
            buffer_ = operand.device_array().buffer;
        else
            buffer_ = gpu::Buffer<T>(stream, std::size_t(most));
    }
    std::uint64_t write(const gpu::Stream& stream, std::int64_t first) {
        return buffer_.write_on(stream) + (operand_->on_device() ? std::uint64_t(first) * sizeof(T) : 0);
    }
    /// Elements [first, first + n) are complete on the host afterwards, where they belong there.
    void finish(const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        if (!operand_->on_device()) download(stream, operand_->view(), buffer_, first, n);
    }

  private:
    const Operand<T>* operand_ = nullptr;
    gpu::Buffer<T> buffer_;
};

/// How a range is cut.
struct Pieces {
    std::int64_t total = 0;
    std::int64_t bytes_each = 0;  ///< of buffers, for each of the range
    std::int64_t granule = 1;     ///< pieces are multiples of this, but the last
    bool overlap = false;         ///< two at once, each on a stream of its own
};

/// Some granules, at least one.
inline std::int64_t whole_granules(std::int64_t n, const Pieces& pieces) {
    return std::max<std::int64_t>(1, n / pieces.granule) * pieces.granule;
}

/// Synchronizes; ignores errors.
void wait_quietly(const OnGpu::State& state) noexcept;

/// The size of a piece such that pieces fit into the memory, and upload, kernel and download can overlap.
std::int64_t piece_size(const OnGpu::State& state, const Pieces& pieces);

/// Works on a range piece by piece: make(stream, most) -> PieceBuffers, the memory for a piece; start(slot, stream, first, n)
/// queues it, finish(slot, stream, first, n) waits where the host gets something. After a lack of memory it goes on
/// with smaller pieces, from the first that is not finished.
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
            wait_quietly(state);  // the caller may do with its memory what it likes now
            throw;
        }
}

}  // namespace glint::arrays
