// Gathers and scatters, line by line.
// SPDX-License-Identifier: MIT
#include "arrays/host_copy.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "base/arena.hpp"

#include <algorithm>
#include <complex>

namespace glint::arrays {
namespace {

/// Returns the offset of the element with that number.
std::int64_t offset_of(const Shape& shape, const Strides& strides, std::int64_t number) {
    std::int64_t offset = 0;
    for (int k = shape.dimensions - 1; k >= 0; --k) {
        offset += number % shape[k] * strides[k];
        number /= shape[k];
    }
    return offset;
}

/// Calls copy(place, offset, n, apart) for pieces of lines: n elements from `place` on, at distances of `apart` in the
/// array.
template <class Copy>
void for_each_line(const Shape& shape, const Strides& strides, std::int64_t first, std::int64_t n, const Copy& copy) {
    const int last = shape.dimensions - 1;
    const std::int64_t length = last < 0 ? 1 : shape[last], apart = last < 0 ? 1 : strides[last];
    for (std::int64_t done = 0; done < n;) {
        const std::int64_t now = std::min(length - (first + done) % length, n - done);
        copy(done, offset_of(shape, strides, first + done), now, apart);
        done += now;
    }
}

template <class Copy>
void in_parallel(std::int64_t n, const Copy& copy) {
    constexpr std::int64_t piece = 1 << 15;
    if (n <= piece || tbb_threads() == 1) return copy(0, n);
    const tbb::blocked_range<std::int64_t> all(0, n, piece);
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(all, [&](const auto& range) { copy(range.begin(), range.end() - range.begin()); }); });
}

}  // namespace

template <class T>
void gather(const View<const T>& from, std::int64_t first, std::int64_t n, T* to) {
    in_parallel(n, [&](std::int64_t begin, std::int64_t count) {
        for_each_line(from.shape, from.strides, first + begin, count,
                      [&](std::int64_t place, std::int64_t offset, std::int64_t length, std::int64_t apart) {
                          T* out = to + begin + place;
                          for (std::int64_t k = 0; k < length; ++k) out[k] = from.data[offset + k * apart];
                      });
    });
}

template <class T>
void scatter(const T* from, const View<T>& to, std::int64_t first, std::int64_t n) {
    in_parallel(n, [&](std::int64_t begin, std::int64_t count) {
        for_each_line(to.shape, to.strides, first + begin, count,
                      [&](std::int64_t place, std::int64_t offset, std::int64_t length, std::int64_t apart) {
                          const T* in = from + begin + place;
                          for (std::int64_t k = 0; k < length; ++k) to.data[offset + k * apart] = in[k];
                      });
    });
}

#define GLINT_COPIES(T)                                                                         \
    template void gather(const View<const T>& from, std::int64_t first, std::int64_t n, T* to); \
    template void scatter(const T* from, const View<T>& to, std::int64_t first, std::int64_t n);
GLINT_COPIES(std::int64_t)
GLINT_COPIES(float)
GLINT_COPIES(double)
GLINT_COPIES(std::complex<float>)
GLINT_COPIES(std::complex<double>)

}  // namespace glint::arrays
