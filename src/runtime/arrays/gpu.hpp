// The operations of glint/arrays/operations.hpp on a GPU. Shapes are validated by the caller, and not empty. Operands
// on the host are uploaded and results downloaded. Work that exceeds the memory is divided into pieces (matrix
// products, maps, reductions, batches of transforms), and into smaller pieces after an out-of-memory error. Throws
// gpu::OutOfMemory when the smallest piece does not fit, LibraryMissing when a library cannot be loaded.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <memory>
#include <span>

#include "glint/arrays/array.hpp"
#include "glint/arrays/device_view.hpp"
#include "glint/arrays/error.hpp"
#include "glint/arrays/operations.hpp"
#include "glint/arrays/random.hpp"
#include "glint/gpu/stream.hpp"

namespace glint::arrays {

/// A session's GPU objects for arrays: library handles, plans, kernels. Created on first use, destroyed before the
/// context.
class OnGpu {
  public:
    OnGpu(const gpu::Context& context, const gpu::Stream& stream);
    ~OnGpu();

    template <class T>
    void matmul(const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c);
    template <class T>
    void fft(const Operand<const std::complex<T>>& in, const Operand<std::complex<T>>& out, const FftOptions& options);
    template <class T>
    void rfft(const Operand<const T>& in, const Operand<std::complex<T>>& out, int rank);
    template <class T>
    void irfft(const Operand<const std::complex<T>>& in, const Operand<T>& out, int rank);
    template <class T>
    void svd(const Operand<const T>& a, const Operand<T>& s, const Operand<T>& u, const Operand<T>& vt);
    template <class T>
    void solve(const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& x);
    template <class T>
    void eigh(const Operand<const T>& a, const Operand<T>& w, const Operand<T>& v);
    template <class T>
    void qr(const Operand<const T>& a, const Operand<T>& q, const Operand<T>& r);
    template <class T>
    void map(const Program& program, std::span<const Operand<const T>> inputs, const Operand<T>& out);
    template <class T>
    double reduce(Reduction reduction, const Program& program, std::span<const Operand<const T>> inputs,
                  const Shape& shape);
    template <class T>
    void random(Distribution distribution, std::uint64_t seed, const Operand<T>& out, std::int64_t first);
    /// Reduces in (outer, n, inner) to out (outer, inner). The result is of T, or of std::int64_t for positions.
    template <class T, class R>
    void reduce_axis(Reduction reduction, const Operand<const T>& in, const Operand<R>& out);
    void copy(const DeviceView& from, const DeviceView& to);
    void take(const DeviceView& from, int axis, const DeviceView& at, const DeviceView& to);

    /// Frees cached plans, workspaces and other unused memory.
    void drop_caches();

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace glint::arrays
