// Copies between strided arrays, and reductions along an axis, on a GPU.
// SPDX-License-Identifier: MIT
#include "arrays/cuda/launch.hpp"

#include <algorithm>
#include <array>

#include "arrays/reduction.hpp"
#include "arrays/transfer.hpp"
#include "glint/error.hpp"

namespace glint::arrays {
namespace {

constexpr int axes_fatbin = 1;

/// Orders the dimensions as in the result, without those of one element; merges neighbours without a gap.
CopyLayout layout_of(const DeviceView& from, const DeviceView& to) {
    CopyLayout layout{};
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < to.shape.size(); ++k)
        if (to.shape[k] > 1) order.push_back(k);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(to.strides[a]) > std::abs(to.strides[b]); });
    for (const std::size_t k : order) {
        const int last = layout.dimensions - 1;
        const long long n = to.shape[k], read = from.strides[k], written = to.strides[k];
        if (last >= 0 && layout.from[last] == n * read && layout.to[last] == n * written) {
            layout.extent[last] *= n, layout.from[last] = read, layout.to[last] = written;
            continue;
        }
        if (layout.dimensions == max_copy_dimensions)
            throw OptionError("a copy of an array of " + std::to_string(to.shape.size()) + " dimensions, more than " +
                              std::to_string(max_copy_dimensions) + " of which cannot be merged: copy it in parts");
        layout.extent[last + 1] = n, layout.from[last + 1] = read, layout.to[last + 1] = written;
        ++layout.dimensions;
    }
    if (layout.dimensions == 0) layout.dimensions = 1, layout.extent[0] = 1;
    return layout;
}

void launch_copy(OnGpu::State& state, std::uint64_t to, Type to_type, std::uint64_t from, Type from_type,
                 const CopyLayout& layout, std::int64_t n) {
    launch(state.stream, state.kernel_named("arrays_copy", 0, axes_fatbin), (n + copy_tile - 1) / copy_tile,
           copy_threads, 0, to, from, layout, to_type, from_type,
           to_type == from_type ? unsigned(num_bytes(to_type)) : 0u, (long long)n);
}

/// Divides an axis so that all multiprocessors have work.
Axis axis_of(const Shape& shape, std::int64_t multiprocessors) {
    Axis axis{.n = shape[1], .inner = shape[2], .chunks = 1, .chunk = shape[1], .outputs = shape[0] * shape[2]};
    const std::int64_t lanes = axis_lanes(axis.inner), of_block = axis_threads / lanes;
    const std::int64_t wanted = 8 * multiprocessors * of_block;  // results
    const std::int64_t most = std::min<std::int64_t>(wanted / axis.outputs, axis.n / (16 * lanes));
    if (most < 2) return axis;
    axis.chunk = (axis.n + most - 1) / most;
    axis.chunks = (axis.n + axis.chunk - 1) / axis.chunk;
    axis.outputs *= axis.chunks;
    return axis;
}

/// Results of one launch.
template <class A>
struct Results {
    gpu::Buffer<A> values;
    gpu::Buffer<std::int64_t> positions;
    Results(const gpu::Stream& stream, std::int64_t n, bool with_positions) : values(stream, std::size_t(n)) {
        if (with_positions) positions = gpu::Buffer<std::int64_t>(stream, std::size_t(n));
    }
};

}  // namespace

void OnGpu::copy(const DeviceView& from, const DeviceView& to) {
    State& state = *state_;
    gpu::Buffer<std::byte> memory = to.memory;
    const std::uint64_t read = from.memory.read_on(state.stream) + std::uint64_t(from.first * num_bytes(from.type));
    const std::uint64_t written = memory.write_on(state.stream) + std::uint64_t(to.first * num_bytes(to.type));
    launch_copy(state, written, to.type, read, from.type, layout_of(from, to), to.count());
}

void OnGpu::take(const DeviceView& from, int axis, const DeviceView& at, const DeviceView& to) {
    State& state = *state_;
    gpu::Buffer<std::byte> memory = to.memory;
    const auto address = [&](const DeviceView& view) {
        return view.memory.read_on(state.stream) + std::uint64_t(view.first * num_bytes(view.type));
    };
    long long inner = 1;
    for (std::size_t k = std::size_t(axis) + 1; k < from.shape.size(); ++k) inner *= from.shape[k];
    const std::uint64_t written = memory.write_on(state.stream) + std::uint64_t(to.first * num_bytes(to.type));
    launch(state.stream, state.kernel_named("arrays_take", 0, axes_fatbin), (to.count() + copy_tile - 1) / copy_tile,
           copy_threads, 0, written, address(from), address(at), (long long)from.shape[std::size_t(axis)], inner,
           (long long)at.count(), unsigned(num_bytes(from.type)), (long long)to.count());
}

template <class T, class R>
void OnGpu::reduce_axis(Reduction reduction, const Operand<const T>& in, const Operand<R>& out) {
    using V = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;  // for partial results
    State& state = *state_;
    const gpu::Stream& stream = state.stream;
    const Axis axis = axis_of(in.shape(), stream.context().multiprocessors());
    const std::int64_t count = out.shape().count();
    const bool find = is_position(reduction), direct = std::is_integral_v<T> || std::is_same_v<R, double>;
    Source<T> source(stream, in, in.shape().count());
    Sink<R> sink(stream, out, count);
    Results<V> last(stream, direct || find ? 1 : count, false);

    const auto reduce = [&](const gpu::Kernel& kernel, std::uint64_t values, std::uint64_t positions,
                            std::uint64_t from, std::uint64_t from_at, const Axis& along) {
        const std::int64_t of_block = axis_threads / axis_lanes(along.inner);
        launch(stream, kernel, (along.outputs + of_block - 1) / of_block, axis_threads, axis_shared_bytes, values,
               positions, from, from_at, along, reduction, double(in.shape()[1]));
    };
    const auto reduce_to_result = [&](const gpu::Kernel& kernel, std::uint64_t from, std::uint64_t from_at,
                                      const Axis& along) {
        const std::uint64_t result = sink.write(stream, 0);
        if (find) return reduce(kernel, 0, result, from, from_at, along);
        if (direct) return reduce(kernel, result, 0, from, from_at, along);
        const std::uint64_t values = last.values.write_on(stream);
        reduce(kernel, values, 0, from, from_at, along);
        CopyLayout layout{.extent = {count}, .from = {1}, .to = {1}, .dimensions = 1};
        launch_copy(state, result, type_of<R>, values, type_of<V>, layout, count);
    };

    const gpu::Kernel& kernel = state.kernel<T>("arrays_reduce_axis", int(axis_shared_bytes), axes_fatbin);
    const std::uint64_t elements = source.read(stream, 0, in.shape().count());
    if (axis.chunks == 1) {
        reduce_to_result(kernel, elements, 0, axis);
    } else {
        Results<V> parts(stream, axis.outputs, find);
        const Reduction whole = reduction;
        launch(stream, kernel,
               (axis.outputs + axis_threads / axis_lanes(axis.inner) - 1) / (axis_threads / axis_lanes(axis.inner)),
               axis_threads, axis_shared_bytes, parts.values.write_on(stream),
               find ? parts.positions.write_on(stream) : std::uint64_t(0), elements, std::uint64_t(0), axis,
               whole == Reduction::mean ? Reduction::sum : whole, 1.0);
        const gpu::Kernel& again = state.kernel<V>("arrays_reduce_axis", int(axis_shared_bytes), axes_fatbin);
        const Axis of_parts{.n = axis.chunks,
                            .inner = axis.inner,
                            .chunks = 1,
                            .chunk = axis.chunks,
                            .outputs = axis.outputs / axis.chunks};
        reduce_to_result(again, parts.values.read_on(stream), find ? parts.positions.read_on(stream) : 0, of_parts);
    }
    sink.finish(stream, 0, count);
    if (out.on_device() && !in.on_device()) stream.synchronize();  // the caller may reuse pinned inputs afterwards
}

#define GLINT_AXES(T) template void OnGpu::reduce_axis(Reduction, const Operand<const T>&, const Operand<T>&);
GLINT_AXES(float)
GLINT_AXES(double)
GLINT_AXES(std::int64_t)
#undef GLINT_AXES
template void OnGpu::reduce_axis(Reduction, const Operand<const float>&, const Operand<std::int64_t>&);
template void OnGpu::reduce_axis(Reduction, const Operand<const double>&, const Operand<std::int64_t>&);

}  // namespace glint::arrays
