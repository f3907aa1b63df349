// The operations of glint/arrays/operations.hpp on a GPU: shapes were checked before, and none is empty. Operands on
// the host are brought there and results taken back; what does not fit at once is cut into pieces (a matrix product, a
// map, a reduction, transforms before the last dimensions), smaller ones after a lack of memory. Throws
// gpu::OutOfMemory when the smallest does not fit, LibraryMissing when a library is not there.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <memory>
#include <span>

#include "glint/arrays/array.hpp"
#include "glint/arrays/error.hpp"
#include "glint/arrays/operations.hpp"
#include "glint/gpu/stream.hpp"

namespace glint::arrays {

/// What a session's GPU has for arrays: library handles, plans, kernels. Made on first use, gone before the context.
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
    void map(const Program& program, std::span<const Operand<const T>> inputs, const Operand<T>& out);
    template <class T>
    double reduce(Reduction reduction, const Program& program, std::span<const Operand<const T>> inputs,
                  const Shape& shape);

    /// Gives cached plans, handles' workspaces and other spare memory back.
    void drop_caches();

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace glint::arrays
