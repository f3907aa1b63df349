// Arrays in memory laid out in all the ways that a View can describe, for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "glint/arrays/array.hpp"

namespace glint::arrays::test {

enum class Layout {
    contiguous,
    padded,      // rows have a gap after them
    transposed,  // the last two dimensions are swapped
    every_third,
    backwards,
    repeated,  // the last dimension repeats one element
};
constexpr Layout all_layouts[] = {Layout::contiguous,  Layout::padded,    Layout::transposed,
                                  Layout::every_third, Layout::backwards, Layout::repeated};
constexpr Layout writable_layouts[] = {Layout::contiguous, Layout::padded, Layout::transposed, Layout::every_third,
                                       Layout::backwards};

/// A view and its memory.
template <class T>
struct Strided {
    std::vector<T> memory;
    View<T> view;

    Strided(const Shape& shape, Layout layout) {
        Shape room = shape;
        const int last = shape.dimensions - 1;
        if (last >= 0 && layout == Layout::padded) room.extent[last] += 3;
        if (last >= 0 && layout == Layout::every_third) room.extent[last] *= 3;
        const bool swap = layout == Layout::transposed && last >= 1;
        if (swap) std::swap(room.extent[last], room.extent[last - 1]);
        memory.resize(room.count());
        Strides strides = contiguous(room);
        if (swap) std::swap(strides[last], strides[last - 1]);
        T* first = memory.data();
        if (last >= 0 && layout == Layout::every_third) strides[last] = 3;
        if (last >= 0 && layout == Layout::repeated) strides[last] = 0;
        if (layout == Layout::backwards)
            for (int k = 0; k <= last; ++k) first += (shape[k] - 1) * strides[k], strides[k] = -strides[k];
        view = {first, shape, strides};
    }
    Strided(const Shape& shape, Layout layout, std::mt19937& random) : Strided(shape, layout) {
        std::normal_distribution<double> normal;
        for (T& x : memory) fill(x, normal, random);
    }
    static Strided of_nan(const Shape& shape, Layout layout) {
        Strided array(shape, layout);
        for (T& x : array.memory) x = std::numeric_limits<double>::quiet_NaN();
        return array;
    }

    /// Returns the k-th element in C order.
    T& at(std::int64_t k) const {
        std::int64_t offset = 0;
        for (int d = view.shape.dimensions - 1; d >= 0; k /= view.shape[d--])
            offset += k % view.shape[d] * view.strides[d];
        return view.data[offset];
    }

  private:
    template <class R>
    static void fill(R& x, std::normal_distribution<double>& normal, std::mt19937& random) {
        x = R(normal(random));
    }
    template <class R>
    static void fill(std::complex<R>& x, std::normal_distribution<double>& normal, std::mt19937& random) {
        const double real = normal(random);
        x = {R(real), R(normal(random))};
    }
};

}  // namespace glint::arrays::test
