// The operations of glint/arrays/operations.hpp on the CPU. Shapes are validated by the caller, and not empty.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <span>

#include "glint/arrays/array.hpp"
#include "glint/arrays/operations.hpp"

namespace glint::arrays::cpu {

/// `threads`: 0 means all threads that this process may use.
template <class T>
void matmul(const View<const T>& a, const View<const T>& b, const View<T>& c, int threads);
template <class T>
void fft(const View<const std::complex<T>>& in, const View<std::complex<T>>& out, const FftOptions& options,
         int threads);
template <class T>
void rfft(const View<const T>& in, const View<std::complex<T>>& out, int rank, int threads);
template <class T>
void irfft(const View<const std::complex<T>>& in, const View<T>& out, int rank, int threads);
/// u and vt both null: computes the values only.
template <class T>
void svd(const View<const T>& a, const View<T>& s, const View<T>* u, const View<T>* vt, int threads);
template <class T>
void solve(const View<const T>& a, const View<const T>& b, const View<T>& x, int threads);
/// v null: computes the values only.
template <class T>
void eigh(const View<const T>& a, const View<T>& w, const View<T>* v, int threads);
template <class T>
void qr(const View<const T>& a, const View<T>& q, const View<T>& r, int threads);
template <class T>
void map(const Program& program, std::span<const View<const T>> inputs, const View<T>& out, int threads);
template <class T>
double reduce(Reduction reduction, const Program& program, std::span<const View<const T>> inputs, const Shape& shape,
              int threads);
template <class T, class R>
void reduce_axis(Reduction reduction, const View<const T>& in, const View<R>& out, int threads);

/// Returns the missing libraries ("libfftw3f.so.3: ..."), with the remedy; empty if none is missing.
std::string why_no_fft();

}  // namespace glint::arrays::cpu
