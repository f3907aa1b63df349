// Reductions along an axis on the CPU.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <type_traits>

#include "arrays/cpu.hpp"
#include "arrays/cpu_parallel.hpp"
#include "arrays/cpu_steps.hpp"
#include "arrays/reduction.hpp"

namespace glint::arrays::cpu {
namespace {

constexpr std::int64_t columns = 64;                     // reduced together
constexpr std::int64_t min_parallel_elements = 1 << 17;  // elements; waking threads takes as long as this many

/// Rows without gaps, whose elements are added or compared several at a time.
template <class T>
bool is_quick(Reduction reduction, const View<const T>& in) {
    return std::is_floating_point_v<T> && reduction <= Reduction::maximum && in.shape[2] == 1 && in.strides[1] == 1;
}

template <class T>
double quick(Reduction reduction, const T* row, std::int64_t n) {
    const StepLoops<T> loops = step_loops<T>();
    switch (reduction) {
        case Reduction::minimum: return loops.least(row, n);
        case Reduction::maximum: return loops.greatest(row, n);
        default: return loops.sum(row, n);
    }
}

/// Reduces columns first to first + width - 1 of a slab.
template <Reduction reduction, class T, class A>
void reduce_columns(const View<const T>& in, const T* slab, std::int64_t first, std::int64_t width, Found<A>* joint) {
    for (std::int64_t k = 0; k < in.shape[1]; ++k)
        for (std::int64_t i = 0; i < width; ++i) {
            const Found<A> here{A(slab[k * in.strides[1] + (first + i) * in.strides[2]]), k};
            joint[i] = k == 0 ? here : join(reduction, joint[i], here);
        }
}

template <class T, class A>
void reduce_columns(Reduction reduction, const View<const T>& in, const T* slab, std::int64_t first, std::int64_t width,
                    Found<A>* joint) {
    switch (reduction) {
#define GLINT_CASE(name) \
    case Reduction::name: return reduce_columns<Reduction::name>(in, slab, first, width, joint);
        GLINT_CASE(sum)
        GLINT_CASE(mean)
        GLINT_CASE(minimum)
        GLINT_CASE(maximum)
        GLINT_CASE(product)
        GLINT_CASE(argmin)
        GLINT_CASE(argmax)
#undef GLINT_CASE
    }
}

}  // namespace

template <class T, class R>
void reduce_axis(Reduction reduction, const View<const T>& in, const View<R>& out, int threads) {
    using A = Accumulator<T>;
    const std::int64_t n = in.shape[1], inner = in.shape[2], parts = (inner + columns - 1) / columns;
    parallel(in.shape.count() < min_parallel_elements ? 1 : threads, in.shape[0] * parts, [&](std::int64_t part) {
        const std::int64_t outer = part / parts, first = part % parts * columns,
                           width = std::min(columns, inner - first);
        const T* slab = in.data + outer * in.strides[0];
        Found<A> joint[columns];
        bool done = false;
        if constexpr (std::is_floating_point_v<T>)
            if (is_quick(reduction, in)) joint[0] = {quick(reduction, slab, n), 0}, done = true;
        if (!done) reduce_columns(reduction, in, slab, first, width, joint);
        for (std::int64_t i = 0; i < width; ++i) {
            R& to = out.data[outer * out.strides[0] + (first + i) * out.strides[1]];
            if (is_position(reduction))
                to = R(joint[i].at);
            else
                to = reduction == Reduction::mean ? R(double(joint[i].value) / double(n)) : R(joint[i].value);
        }
    });
}

#define GLINT_AXES(T) template void reduce_axis(Reduction, const View<const T>&, const View<T>&, int);
GLINT_AXES(float)
GLINT_AXES(double)
GLINT_AXES(std::int64_t)
#undef GLINT_AXES
template void reduce_axis(Reduction, const View<const float>&, const View<std::int64_t>&, int);
template void reduce_axis(Reduction, const View<const double>&, const View<std::int64_t>&, int);

}  // namespace glint::arrays::cpu
