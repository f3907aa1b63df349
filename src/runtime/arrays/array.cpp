// Shapes and strides.
// SPDX-License-Identifier: MIT
#include "glint/arrays/array.hpp"

#include <complex>
#include <limits>

#include "glint/error.hpp"

namespace glint::arrays {

Shape::Shape(std::initializer_list<std::int64_t> extents) {
    if (extents.size() > max_dimensions)
        throw OptionError("an array of " + std::to_string(extents.size()) + " dimensions: at most " +
                          std::to_string(max_dimensions) + " are possible");
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t n : extents) {
        if (n < 0) throw OptionError("an array with an extent of " + std::to_string(n));
        if (n > 0 && n > most) throw OptionError("an array of more elements than can be counted");
        if (n > 0) most /= n;
        extent[dimensions++] = n;
    }
}

bool Shape::operator==(const Shape& other) const {
    if (dimensions != other.dimensions) return false;
    for (int k = 0; k < dimensions; ++k)
        if (extent[k] != other.extent[k]) return false;
    return true;
}

Strides contiguous(const Shape& shape) {
    Strides strides{};
    std::int64_t apart = 1;
    for (int k = shape.dimensions - 1; k >= 0; --k) {
        strides[k] = apart;
        apart *= shape[k];
    }
    return strides;
}

template <class T>
bool View<T>::is_contiguous() const {
    const Strides expected = contiguous(shape);
    for (int k = 0; k < shape.dimensions; ++k)
        if (shape[k] > 1 && strides[k] != expected[k]) return false;
    return true;
}

template <class T>
void copy_elements(const View<const T>& from, const View<T>& to) {
    const int last = from.shape.dimensions - 1;
    if (from.shape.count() == 0) return;
    if (last < 0) {
        *to.data = *from.data;
        return;
    }
    std::array<std::int64_t, max_dimensions> at{};
    for (;;) {
        const T* source = from.data;
        T* target = to.data;
        for (int k = 0; k < last; ++k) source += at[k] * from.strides[k], target += at[k] * to.strides[k];
        for (std::int64_t k = 0; k < from.shape[last]; ++k)
            target[k * to.strides[last]] = source[k * from.strides[last]];
        int k = last - 1;
        while (k >= 0 && ++at[k] == from.shape[k]) at[k--] = 0;
        if (k < 0) return;
    }
}

#define GLINT_VIEW(T)              \
    template struct View<T>;       \
    template struct View<const T>; \
    template void copy_elements<T>(const View<const T>&, const View<T>&);
GLINT_VIEW(std::int64_t)
GLINT_VIEW(float)
GLINT_VIEW(double)
GLINT_VIEW(std::complex<float>)
GLINT_VIEW(std::complex<double>)

}  // namespace glint::arrays
