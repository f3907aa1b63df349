// Element-wise programs and reductions on a GPU.
// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <limits>

#include "arrays/evaluate.hpp"
#include "arrays/transfer.hpp"

namespace glint::arrays {
namespace {

constexpr std::int64_t granule = 1024;  // keeps pieces of a device's array aligned

/// The inputs of a program, for a piece of the whole.
template <class T>
class Inputs {
  public:
    Inputs(const gpu::Stream& stream, std::span<const Operand<const T>> operands, std::int64_t total,
           std::int64_t most) {
        for (const Operand<const T>& operand : operands) {
            const bool single = operand.shape().count() == 1 && total != 1;
            if (single) singles_ |= 1u << sources_.size();
            sources_.emplace_back(stream, operand, single ? 1 : most);
        }
    }
    unsigned singles() const { return singles_; }
    std::array<std::uint64_t, max_inputs> read(const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        std::array<std::uint64_t, max_inputs> addresses{};
        for (std::size_t k = 0; k < sources_.size(); ++k) {
            const bool single = singles_ >> k & 1;
            addresses[k] = sources_[k].read(stream, single ? 0 : first, single ? 1 : n);
        }
        return addresses;
    }

  private:
    std::vector<Source<T>> sources_;
    unsigned singles_ = 0;
};

/// Bytes of buffers for each element. Inputs of one element need no buffer.
template <class T>
std::int64_t bytes_of_inputs(std::span<const Operand<const T>> inputs, std::int64_t total) {
    std::int64_t bytes = 0;
    for (const Operand<const T>& operand : inputs)
        if (!operand.on_device() && (operand.shape().count() > 1 || total == 1)) bytes += sizeof(T);
    return bytes;
}

bool on_host(const auto& inputs) {
    return std::any_of(inputs.begin(), inputs.end(), [](const auto& operand) { return !operand.on_device(); });
}

double joined(Reduction reduction, double a, double b) {
    switch (reduction) {
        case Reduction::minimum: return least(a, b);
        case Reduction::maximum: return greatest(a, b);
        default: return a + b;
    }
}

double neutral(Reduction reduction) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return reduction == Reduction::minimum ? infinity : reduction == Reduction::maximum ? -infinity : 0;
}

}  // namespace

template <class T>
void OnGpu::map(const Program& program, std::span<const Operand<const T>> inputs, const Operand<T>& out) {
    State& state = *state_;
    const gpu::Kernel& kernel = state.kernel<T>("arrays_map", map_shared_bytes<T>(max_registers));
    const unsigned shared_bytes = map_shared_bytes<T>(program.registers);
    const std::int64_t total = out.shape().count();
    const Pieces pieces{.total = total,
                        .bytes_each = bytes_of_inputs(inputs, total) + (out.on_device() ? 0 : std::int64_t(sizeof(T))),
                        .granule = granule,
                        .overlap = !out.on_device()};
    struct PieceBuffers {
        Inputs<T> inputs;
        Sink<T> out;
    };
    in_pieces(
        state, pieces,
        [&](const gpu::Stream& stream, std::int64_t most) {
            return PieceBuffers{{stream, inputs, total, most}, {stream, out, most}};
        },
        [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
            const auto in = slot.inputs.read(stream, first, n);
            launch(stream, kernel, (n + map_tile - 1) / map_tile, map_threads, shared_bytes,
                   slot.out.write(stream, first), in[0], in[1], in[2], in[3], in[4], in[5], program,
                   slot.inputs.singles(), (long long)n);
        },
        [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
            slot.out.finish(stream, first, n);
        });
    if (out.on_device() && on_host(inputs)) state.stream.synchronize();  // the caller may reuse pinned inputs
}

template <class T>
double OnGpu::reduce(Reduction reduction, const Program& program, std::span<const Operand<const T>> inputs,
                     const Shape& shape) {
    State& state = *state_;
    const gpu::Kernel& kernel = state.kernel<T>("arrays_reduce", reduce_shared_bytes<T>(max_registers));
    const unsigned shared_bytes = reduce_shared_bytes<T>(program.registers);
    const std::int64_t total = shape.count(), max_blocks = 8 * state.stream.context().multiprocessors();
    const auto blocks_for = [&](std::int64_t n) { return std::min(max_blocks, (n + map_tile - 1) / map_tile); };
    const Pieces pieces{
        .total = total, .bytes_each = bytes_of_inputs(inputs, total), .granule = granule, .overlap = on_host(inputs)};
    struct PieceBuffers {
        Inputs<T> inputs;
        gpu::Buffer<double> partials;
    };
    double joint = neutral(reduction);
    in_pieces(
        state, pieces,
        [&](const gpu::Stream& stream, std::int64_t most) {
            return PieceBuffers{{stream, inputs, total, most},
                                {stream, std::size_t(blocks_for(most) * reduce_partials)}};
        },
        [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
            const auto in = slot.inputs.read(stream, first, n);
            launch(stream, kernel, blocks_for(n), map_threads, shared_bytes, slot.partials.write_on(stream), in[0],
                   in[1], in[2], in[3], in[4], in[5], program, slot.inputs.singles(), (long long)n, reduction);
        },
        [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t, std::int64_t n) {
            std::vector<double> partials(std::size_t(blocks_for(n) * reduce_partials));
            gpu::download(stream, std::span<double>(partials), slot.partials);
            for (const double partial : partials) joint = joined(reduction, joint, partial);
        });
    return reduction == Reduction::mean ? joint / double(total) : joint;
}

template void OnGpu::map(const Program&, std::span<const Operand<const std::int64_t>>, const Operand<std::int64_t>&);

#define GLINT_MAPS(T)                                                                               \
    template void OnGpu::map(const Program&, std::span<const Operand<const T>>, const Operand<T>&); \
    template double OnGpu::reduce(Reduction, const Program&, std::span<const Operand<const T>>, const Shape&);
GLINT_MAPS(float)
GLINT_MAPS(double)

}  // namespace glint::arrays
