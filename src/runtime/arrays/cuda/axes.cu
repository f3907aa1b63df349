// Kernels on arrays with axes: copies between strided arrays of any type, and reductions along an axis.
// SPDX-License-Identifier: MIT
#include "arrays/cuda/launch.hpp"

#include "arrays/number.hpp"
#include "arrays/reduction.hpp"

namespace {

using namespace glint::arrays;
using glint::gpu::Index;
using glint::gpu::Scratch;

/// Copies an element without converting it.
GLINT_DEVICE void move(unsigned bytes, unsigned char* to, long long i, const unsigned char* from, long long k) {
    switch (bytes) {
        case 1: put<unsigned char>(to, i, element<unsigned char>(from, k)); break;
        case 2: put<unsigned short>(to, i, element<unsigned short>(from, k)); break;
        case 4: put<unsigned>(to, i, element<unsigned>(from, k)); break;
        case 8: put<unsigned long long>(to, i, element<unsigned long long>(from, k)); break;
        default:
            put<unsigned long long>(to, 2 * i, element<unsigned long long>(from, 2 * k));
            put<unsigned long long>(to, 2 * i + 1, element<unsigned long long>(from, 2 * k + 1));
    }
}

/// Computes the offsets of the k-th element. 32-bit divisions take a fraction of the time of 64-bit ones.
struct ElementOffsets {
    long long from = 0, to = 0;
    template <class Count>
    GLINT_DEVICE void find(const CopyLayout& layout, Count k) {
        for (int d = layout.dimensions - 1; d >= 0; --d) {
            const Count extent = Count(layout.extent[d]), rest = k / extent;
            const long long here = (long long)(k - rest * extent);
            from += here * layout.from[d], to += here * layout.to[d];
            k = rest;
        }
    }
};

struct Copy {
    static constexpr unsigned max_threads = copy_threads;
    static GLINT_DEVICE void compute(Index index, unsigned char* to, const unsigned char* from, CopyLayout layout,
                                     Type to_type, Type from_type, unsigned bytes_if_same, long long n) {
        const long long first = (long long)index.block * copy_tile + index.thread;
        for (unsigned e = 0; e < copies_each; ++e) {
            const long long k = first + e * index.block_dim;
            if (k >= n) return;
            ElementOffsets place;
            if (layout.dimensions == 1)
                place.from = k * layout.from[0], place.to = k * layout.to[0];
            else if (n <= 0x7fffffff)
                place.find<unsigned>(layout, unsigned(k));
            else
                place.find<long long>(layout, k);
            if (bytes_if_same)
                move(bytes_if_same, to, place.to, from, place.from);
            else
                write_number(to_type, to, place.to, read_number(from_type, from, place.from));
        }
    }
};

/// Copies elements at[j] along the middle of three dimensions (outer, n, inner) to (outer, count, inner). Negative
/// positions count from the end; the caller has checked them.
struct Take {
    static constexpr unsigned max_threads = copy_threads;
    static GLINT_DEVICE void compute(Index index, unsigned char* to, const unsigned char* from, const long long* at,
                                     long long n, long long inner, long long count, unsigned bytes, long long total) {
        const long long first = (long long)index.block * copy_tile + index.thread;
        for (unsigned e = 0; e < copies_each; ++e) {
            const long long k = first + e * index.block_dim;
            if (k >= total) return;
            const long long row = k / inner, outer = row / count, position = at[row - outer * count];
            move(bytes, to, k, from, (outer * n + position + (position < 0 ? n : 0)) * inner + (k - row * inner));
        }
    }
};

/// Each thread computes a part of a result, in the order of the axis; then one thread joins the parts of a result. The
/// order is the same in each run. V: type of the elements. `from_at`: positions, if the elements are partial results;
/// else null.
template <class V>
struct ReduceAxis {
    using A = Accumulator<V>;
    static constexpr unsigned max_threads = axis_threads;
    struct LaneOfOutput {
        unsigned lane, lanes, word;  // of shared memory
        long long output;
        /// For a thread that computes `lane` of an output. For joining, `thread` may be the thread of the output.
        GLINT_DEVICE LaneOfOutput(Index index, unsigned output_in_block, unsigned of_lane, const Axis& axis) {
            lanes = axis_lanes(axis.inner), lane = of_lane;
            const unsigned outputs = axis_threads / lanes;
            word = beside(axis) ? lane * outputs + output_in_block : output_in_block * lanes + lane;
            output = (long long)index.block * outputs + output_in_block;
        }
    };
    /// Returns true if neighbouring threads work on neighbouring results instead of on one.
    static GLINT_DEVICE bool beside(const Axis& axis) { return axis_lanes(axis.inner) == 8; }
    static GLINT_DEVICE LaneOfOutput slot_of(Index index, const Axis& axis) {
        const unsigned lanes = axis_lanes(axis.inner), outputs = axis_threads / lanes;
        return beside(axis) ? LaneOfOutput(index, index.thread % outputs, index.thread / outputs, axis)
                            : LaneOfOutput(index, index.thread / lanes, index.thread % lanes, axis);
    }
    static GLINT_DEVICE long long* positions(Scratch scratch) {
        return reinterpret_cast<long long*>(scratch.as<A>() + axis_threads);
    }

    static GLINT_DEVICE void stage(Index index, Scratch scratch, A* out, long long* out_at, const V* from,
                                   const long long* from_at, Axis axis, Reduction reduction, double divisor) {
        (void)out, (void)out_at, (void)divisor;
        const LaneOfOutput slot = slot_of(index, axis);
        if (slot.output >= axis.outputs) return;
        const long long beside = slot.output % axis.inner, chunk = slot.output / axis.inner % axis.chunks,
                        outer = slot.output / axis.inner / axis.chunks;
        const long long begin = chunk * axis.chunk, rest = axis.n - begin,
                        end = begin + (rest < axis.chunk ? rest : axis.chunk);
        const long long base = outer * axis.n * axis.inner + beside;
        Found<A> joint{0, -1};
        for (long long k = begin + slot.lane; k < end; k += slot.lanes) {
            const long long at = base + k * axis.inner;
            const Found<A> here{A(from[at]), from_at ? from_at[at] : k};
            joint = k == begin + slot.lane ? here : join(reduction, joint, here);
        }
        scratch.as<A>()[slot.word] = joint.value;
        positions(scratch)[slot.word] = joint.at;
    }

    static GLINT_DEVICE void compute(Index index, Scratch scratch, A* out, long long* out_at, const V*,
                                     const long long*, Axis axis, Reduction reduction, double divisor) {
        if (index.thread >= axis_threads / axis_lanes(axis.inner)) return;
        const LaneOfOutput first(index, index.thread, 0, axis);
        if (first.output >= axis.outputs) return;
        const long long begin = first.output / axis.inner % axis.chunks * axis.chunk, rest = axis.n - begin;
        const long long elements = rest < axis.chunk ? rest : axis.chunk;
        Found<A> joint{scratch.as<A>()[first.word], positions(scratch)[first.word]};
        for (unsigned lane = 1; lane < first.lanes && lane < elements; ++lane) {
            const LaneOfOutput slot(index, index.thread, lane, axis);
            joint = join(reduction, joint, Found<A>{scratch.as<A>()[slot.word], positions(scratch)[slot.word]});
        }
        if (is_position(reduction)) out_at[first.output] = joint.at;
        if (out) out[first.output] = reduction == Reduction::mean ? A(double(joint.value) / divisor) : joint.value;
    }
};

}  // namespace

GLINT_KERNEL(arrays_copy, 7, Copy)
GLINT_KERNEL(arrays_take, 8, Take)
GLINT_KERNEL(arrays_reduce_axis_float, 7, ReduceAxis<float>)
GLINT_KERNEL(arrays_reduce_axis_double, 7, ReduceAxis<double>)
GLINT_KERNEL(arrays_reduce_axis_int64, 7, ReduceAxis<long long>)
