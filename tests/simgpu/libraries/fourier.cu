// The stand-in of cuFFT's kernels: sums by the definition, in double precision.
// SPDX-License-Identifier: MIT
#include "shapes.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "gpu/kernel_abi.hpp"

namespace {

using glint::gpu::Index;
using simgpu::FourierShape;
using Number = std::complex<double>;
using Numbers = std::vector<Number>;

/// Transforms `length` numbers with the stride `apart`.
void transform(Number* x, long long length, long long apart, int direction) {
    Numbers roots(length), out(length);
    for (long long k = 0; k < length; ++k)
        roots[k] = std::polar(1.0, direction * 2 * 3.14159265358979323846 * double(k) / double(length));
    for (long long k = 0; k < length; ++k)
        for (long long j = 0; j < length; ++j) out[k] += x[j * apart] * roots[j * k % length];
    for (long long k = 0; k < length; ++k) x[k * apart] = out[k];
}

void transform(Numbers& x, const FourierShape& f) {
    for (long long row = 0; row < f.height; ++row) transform(&x[row * f.width], f.width, 1, f.direction);
    for (long long column = 0; column < f.width && f.height > 1; ++column)
        transform(&x[column], f.height, f.width, f.direction);
}

template <class T>
struct ToComplex {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index index, std::complex<T>* in, std::complex<T>* out, std::complex<T>* work,
                                     FourierShape f) {
        const long long n = f.height * f.width;
        Numbers x(in + index.block * n, in + index.block * n + n);
        transform(x, f);
        for (long long k = 0; k < n; ++k) out[index.block * n + k] = work[index.block * n + k] = std::complex<T>(x[k]);
    }
};

template <class T>
struct FromReal {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index index, T* in, std::complex<T>* out, std::complex<T>* work, FourierShape f) {
        const long long n = f.height * f.width, half = f.width / 2 + 1;
        Numbers x(in + index.block * n, in + index.block * n + n);
        transform(x, f);
        work[index.block] = T(0);
        for (long long row = 0; row < f.height; ++row)
            for (long long k = 0; k < half; ++k)
                out[(index.block * f.height + row) * half + k] = std::complex<T>(x[row * f.width + k]);
    }
};

/// Transforms in place. Returns NaN for a spectrum that no real array has, for which cuFFT's result is undefined.
template <class T>
struct ToReal {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index index, std::complex<T>* in, T* out, std::complex<T>* work, FourierShape f) {
        const long long half = f.width / 2 + 1, n = f.height * f.width;
        std::complex<T>* spectrum = in + index.block * f.height * half;
        Numbers x(n);
        bool good = true;
        for (long long row = 0; row < f.height; ++row)
            for (long long k = 0; k < f.width; ++k) {
                const long long mirrored = (f.height - row) % f.height, other = f.width - k;
                x[row * f.width + k] =
                    k < half ? Number(spectrum[row * half + k]) : std::conj(Number(spectrum[mirrored * half + other]));
                if (k == 0 || 2 * k == f.width)
                    good &= spectrum[row * half + k] == std::conj(spectrum[mirrored * half + k]);
            }
        transform(x, f);
        work[index.block] = T(0);
        const T nan = std::numeric_limits<T>::quiet_NaN();
        for (long long k = 0; k < n; ++k) out[index.block * n + k] = good ? T(x[k].real()) : nan;
        for (long long k = 0; k < f.height * half; ++k) spectrum[k] = nan;
    }
};

}  // namespace

GLINT_KERNEL(simlib_c2c, 4, ToComplex<float>)
GLINT_KERNEL(simlib_z2z, 4, ToComplex<double>)
GLINT_KERNEL(simlib_r2c, 4, FromReal<float>)
GLINT_KERNEL(simlib_d2z, 4, FromReal<double>)
GLINT_KERNEL(simlib_c2r, 4, ToReal<float>)
GLINT_KERNEL(simlib_z2d, 4, ToReal<double>)
