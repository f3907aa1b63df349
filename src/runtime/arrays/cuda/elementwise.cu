// Kernels on arrays: programs of element-wise steps, reductions, and operations that the libraries do not provide.
//
// A thread applies each step of a program to several elements, so that a step is decoded once for them. Registers are
// in shared memory, a word per thread and element: a step's register numbers are known at run time only, and arrays in
// a thread's own registers cannot be indexed.
// SPDX-License-Identifier: MIT
#include "arrays/cuda/launch.hpp"

#include "arrays/evaluate.hpp"
#include "arrays/library_abi.hpp"
#include "glint/arrays/operations.hpp"

namespace {

using namespace glint::arrays;
using glint::gpu::Index;
using glint::gpu::Scratch;

/// The inputs of a program. Inputs of one element are marked by a bit.
template <class T>
struct Inputs {
    const T *a, *b, *c, *d, *e, *f;
    unsigned single;
    GLINT_DEVICE const T* operator[](unsigned k) const {
        switch (k) {
            case 0: return a;
            case 1: return b;
            case 2: return c;
            case 3: return d;
            case 4: return e;
            default: return f;
        }
    }
};

/// Runs the program for elements first, first + block_dim, ... of this thread; `own` is its word of register 0. Returns
/// the address of the results, which are a block apart. Beyond the end, computes the last element again.
template <class T>
GLINT_DEVICE const T* run(const Program& program, const Inputs<T>& inputs, T* own, unsigned block_dim, long long first,
                          long long n) {
    constexpr int elements = int(map_elements);
    T* to = own;
    for (int i = 0; i < program.count; ++i) {
        const Instruction& now = program.instructions[i];
        const auto at = [&](unsigned k) { return own + k * map_elements * block_dim; };
        to = at(now.to);
        const T *a = at(now.a % max_registers), *b = at(now.b), *c = at(now.c);
        switch (now.step) {
            case Step::constant:
#pragma unroll
                for (int e = 0; e < elements; ++e) to[e * block_dim] = T(now.value);
                break;
            case Step::input: {
                const T* from = inputs[now.a];
                const bool single = inputs.single >> now.a & 1;
#pragma unroll
                for (int e = 0; e < elements; ++e) {
                    const long long k = first + e * (long long)block_dim;
                    to[e * block_dim] = from[single ? 0 : k < n ? k : n - 1];
                }
                break;
            }
#define GLINT_STEP(name)                                       \
    case Step::name:                                           \
        _Pragma("unroll") for (int e = 0; e < elements; ++e) { \
            const unsigned k = e * block_dim;                  \
            to[k] = apply<T>(Step::name, a[k], b[k], c[k], 0); \
        }                                                      \
        break;
                GLINT_STEP(add)
                GLINT_STEP(subtract)
                GLINT_STEP(multiply)
                GLINT_STEP(divide)
                GLINT_STEP(minimum)
                GLINT_STEP(maximum)
                GLINT_STEP(negate)
                GLINT_STEP(absolute)
                GLINT_STEP(square)
                GLINT_STEP(square_root)
                GLINT_STEP(less)
                GLINT_STEP(less_equal)
                GLINT_STEP(select)
                GLINT_STEP(fused_multiply_add)
#undef GLINT_STEP
            default:  // slow functions, where decoding does not matter
#pragma unroll 1
                for (int e = 0; e < elements; ++e) {
                    const unsigned k = e * block_dim;
                    to[k] = apply<T>(now.step, a[k], b[k], c[k], 0);
                }
        }
    }
    return to;
}

template <class T>
struct Map {
    static constexpr unsigned max_threads = map_threads;
    static GLINT_DEVICE void compute(Index index, Scratch scratch, T* out, const T* a, const T* b, const T* c,
                                     const T* d, const T* e, const T* f, Program program, unsigned single,
                                     long long n) {
        const long long first = (long long)index.block * map_elements * index.block_dim + index.thread;
        if (first >= n) return;
        const T* results =
            run<T>(program, {a, b, c, d, e, f, single}, scratch.as<T>() + index.thread, index.block_dim, first, n);
        for (unsigned k = 0; k < map_elements; ++k)
            if (first + k * index.block_dim < n) out[first + k * index.block_dim] = results[k * index.block_dim];
    }
};

GLINT_DEVICE double joined(Reduction reduction, double a, double b) {
    switch (reduction) {
        case Reduction::minimum: return least(a, b);
        case Reduction::maximum: return greatest(a, b);
        default: return a + b;
    }
}

GLINT_DEVICE double neutral(Reduction reduction) {
    switch (reduction) {
        case Reduction::minimum: return HUGE_VAL;
        case Reduction::maximum: return -HUGE_VAL;
        default: return 0;
    }
}

/// Each thread computes a part of all tiles; then few threads join the parts of a block. The order is the same at each
/// run.
template <class T>
struct Reduce {
    static constexpr unsigned max_threads = map_threads;
    /// Shared memory after the registers.
    static GLINT_DEVICE double* results(Scratch scratch, const Program& program, unsigned block_dim) {
        return reinterpret_cast<double*>(scratch.as<T>() + program.registers * map_elements * block_dim);
    }
    static GLINT_DEVICE void stage(Index index, Scratch scratch, double* partials, const T* a, const T* b, const T* c,
                                   const T* d, const T* e, const T* f, Program program, unsigned single, long long n,
                                   Reduction reduction) {
        (void)partials;
        const long long tile = (long long)map_elements * index.block_dim;
        double joint = neutral(reduction);
        for (long long first = index.block * tile + index.thread; first < n; first += index.grid_dim * tile) {
            const T* values =
                run<T>(program, {a, b, c, d, e, f, single}, scratch.as<T>() + index.thread, index.block_dim, first, n);
            for (unsigned k = 0; k < map_elements; ++k)
                if (first + k * index.block_dim < n)
                    joint = joined(reduction, joint, double(values[k * index.block_dim]));
        }
        results(scratch, program, index.block_dim)[index.thread] = joint;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, double* partials, const T*, const T*, const T*,
                                     const T*, const T*, const T*, Program program, unsigned, long long,
                                     Reduction reduction) {
        if (index.thread >= reduce_partials) return;
        const double* of_threads = results(scratch, program, index.block_dim);
        double joint = neutral(reduction);
        for (unsigned k = index.thread; k < index.block_dim; k += reduce_partials)
            joint = joined(reduction, joint, of_threads[k]);
        partials[index.block * reduce_partials + index.thread] = joint;
    }
};

template <class T>
struct Scale {
    static constexpr unsigned max_threads = map_threads;
    static GLINT_DEVICE void compute(Index index, T* x, T factor, long long n) {
        const long long k = (long long)index.block * index.block_dim + index.thread;
        if (k < n) x[k] *= factor;
    }
};

/// Transposes in (rows, columns) to out (columns, rows), square by square through shared memory, so that both are
/// accessed in whole lines. An additional word in each row keeps a column's words in different banks.
template <class T>
struct Transpose {
    static constexpr unsigned max_threads = transpose_threads, side = transpose_side, lines = max_threads / side;
    struct Square {
        long long row, column;  // of its first element, in `in`
        GLINT_DEVICE Square(unsigned block, long long columns) {
            const long long across = (columns + side - 1) / side;
            row = block / across * side, column = block % across * side;
        }
    };
    static GLINT_DEVICE void stage(Index index, Scratch scratch, T* out, const T* in, long long rows,
                                   long long columns) {
        (void)out;
        const Square square(index.block, columns);
        const unsigned x = index.thread % side;
        for (unsigned y = index.thread / side; y < side; y += lines)
            if (square.row + y < rows && square.column + x < columns)
                scratch.as<T>()[y * (side + 1) + x] = in[(square.row + y) * columns + square.column + x];
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, T* out, const T*, long long rows,
                                     long long columns) {
        const Square square(index.block, columns);
        const unsigned x = index.thread % side;
        for (unsigned y = index.thread / side; y < side; y += lines)
            if (square.column + y < columns && square.row + x < rows)
                out[(square.column + y) * rows + square.row + x] = scratch.as<T>()[x * (side + 1) + y];
    }
};

/// Copies the upper triangle of a (m, n), by columns, to out (k, n), by rows.
template <class T>
struct Upper {
    static constexpr unsigned max_threads = map_threads;
    static GLINT_DEVICE void compute(Index index, T* out, const T* a, long long m, long long n, long long count) {
        const long long at = (long long)index.block * index.block_dim + index.thread;
        if (at >= count) return;
        const long long row = at / n, column = at % n;
        out[at] = row <= column ? a[row + column * m] : T(0);
    }
};

/// In half-spectra (height, half), symmetrises the columns that are their own mirror image, as for a real array. cuFFT
/// requires this symmetry; NumPy establishes it implicitly. width: of the real array. A thread computes one pair of
/// rows of one column.
template <class T>
struct Mirror {
    static constexpr unsigned max_threads = map_threads;
    static GLINT_DEVICE void compute(Index index, lib::Complex<T>* x, long long height, long long width,
                                     long long count) {
        const long long half = width / 2 + 1, pairs = height / 2 + 1, columns = width % 2 == 0 ? 2 : 1;
        const long long k = (long long)index.block * index.block_dim + index.thread;
        const long long row = k % pairs, column = k / pairs % columns * (width / 2), which = k / pairs / columns;
        if (which >= count) return;
        lib::Complex<T>*a = x + (which * height + row) * half + column,
        *b = x + (which * height + (height - row) % height) * half + column;
        const lib::Complex<T> mean{(a->real + b->real) / 2, (a->imaginary - b->imaginary) / 2};
        *a = mean;
        *b = {mean.real, -mean.imaginary};
    }
};

}  // namespace

GLINT_KERNEL(arrays_map_float, 10, Map<float>)
GLINT_KERNEL(arrays_map_double, 10, Map<double>)
GLINT_KERNEL(arrays_map_int64, 10, Map<long long>)
GLINT_KERNEL(arrays_reduce_float, 11, Reduce<float>)
GLINT_KERNEL(arrays_reduce_double, 11, Reduce<double>)
GLINT_KERNEL(arrays_scale_float, 3, Scale<float>)
GLINT_KERNEL(arrays_scale_double, 3, Scale<double>)
GLINT_KERNEL(arrays_transpose_float, 4, Transpose<float>)
GLINT_KERNEL(arrays_transpose_double, 4, Transpose<double>)
GLINT_KERNEL(arrays_upper_float, 5, Upper<float>)
GLINT_KERNEL(arrays_upper_double, 5, Upper<double>)
GLINT_KERNEL(arrays_mirror_float, 4, Mirror<float>)
GLINT_KERNEL(arrays_mirror_double, 4, Mirror<double>)
