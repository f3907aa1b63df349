// Operations on arrays, each on the CPU or on a GPU, wherever it is done sooner.
//
// What lies on a GPU stays there; the result lies where the caller's operand for it does. All elements of a result are
// written, none is read; a result must not overlap an input, but for map(), where it may be one of the inputs.
// Operations of one Session come one after the other; results are complete when the call returns, but for those on a
// GPU, which are complete in the session's stream. All throw OptionError for shapes that do not fit, with both shapes.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "glint/arrays/array.hpp"
#include "glint/arrays/expression.hpp"
#include "glint/error.hpp"
#include "glint/offload/session.hpp"

namespace glint::arrays {

using offload::Session;

/// c = a b, for matrices (m, k), (k, n), (m, n), or stacks of them: one or two dimensions before, of which a's and b's
/// may be 1 or missing where c's are not. T: float or double.
template <class T>
void matmul(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c);

struct FftOptions {
    int rank = 1;          ///< transforms the last 1 or 2 dimensions
    bool inverse = false;  ///< and divides by the number of elements of a transform, as NumPy does
};

/// Discrete Fourier transforms of the last dimensions, for all that is before them; of one shape. T: float or double.
template <class T>
void fft(Session& session, const Operand<const std::complex<T>>& in, const Operand<std::complex<T>>& out,
         const FftOptions& options = {});
/// Of real values: `out` has n / 2 + 1 elements in the last dimension where `in` has n.
template <class T>
void rfft(Session& session, const Operand<const T>& in, const Operand<std::complex<T>>& out, int rank = 1);
/// Back: `out` has n elements in the last dimension where `in` has n / 2 + 1; divides as the inverse does.
template <class T>
void irfft(Session& session, const Operand<const std::complex<T>>& in, const Operand<T>& out, int rank = 1);

/// An iteration did not come to its end.
class NotConverged : public Error {
  public:
    using Error::Error;
};

/// a = u diag(s) vt: singular values in descending order, and with k = min(m, n) the vectors u (m, k) and vt (k, n), or
/// all that are orthogonal to each other, u (m, m) and vt (n, n); both or neither. T: float or double. Throws OptionError for a NaN or infinity in `a`, NotConverged.
template <class T>
void svd(Session& session, const Operand<const T>& a, const Operand<T>& s, const Operand<T>& u = {},
         const Operand<T>& vt = {});

/// a x = b, for a (n, n), b and x (n, k). T: float or double. Throws OptionError for a singular matrix.
template <class T>
void solve(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& x);

/// a = v diag(w) v^T of a symmetric a (n, n), of which the lower triangle is read: eigenvalues w (n) in ascending order, and
/// the vectors as columns of v (n, n), if they are wanted. T: float or double. Throws as svd().
template <class T>
void eigh(Session& session, const Operand<const T>& a, const Operand<T>& w, const Operand<T>& v = {});

/// a = q r of a (m, n), with k = min(m, n): orthonormal columns q (m, k), and r (k, n), zero below the diagonal.
/// T: float or double.
template <class T>
void qr(Session& session, const Operand<const T>& a, const Operand<T>& q, const Operand<T>& r);

/// out = program of the inputs, element by element. Inputs have out's shape, or one element. T: float, double, or
/// std::int64_t, which computes modulo 2^64. Throws OptionError for a step that integers do not have.
template <class T>
void map(Session& session, const Program& program, const std::vector<Operand<const T>>& inputs, const Operand<T>& out);
template <class T>
void map(Session& session, const Expression& expression, const std::vector<Operand<const T>>& inputs,
         const Operand<T>& out) {
    map<T>(session, compile(expression), inputs, out);
}

enum class Reduction { sum, mean, minimum, maximum, product, argmin, argmax };

/// The sum (in double precision), mean, least or greatest of a program's value over all elements of the inputs, which are of
/// one shape, or have one element. NaN where one is. Of no elements: 0, NaN, and an OptionError for the least and the
/// greatest.
template <class T>
double reduce(Session& session, Reduction reduction, const Program& program,
              const std::vector<Operand<const T>>& inputs);
template <class T>
double reduce(Session& session, Reduction reduction, const Expression& expression,
              const std::vector<Operand<const T>>& inputs) {
    return reduce<T>(session, reduction, compile(expression), inputs);
}

/// Along the middle of three dimensions: in (outer, n, inner) to out (outer, inner). Sums, products and means of floats are
/// computed in double precision, sums and products of integers modulo 2^64; NaN where one is. T: float, double, and but for
/// the mean std::int64_t. Throws OptionError for an extreme of no elements.
template <class T>
void reduce_axis(Session& session, Reduction reduction, const Operand<const T>& in, const Operand<T>& out);
/// Reduction::argmin or argmax: the position along the axis of the first of the least or greatest elements; of the first NaN
/// where there is one.
template <class T>
void find_along_axis(Session& session, Reduction reduction, const Operand<const T>& in,
                     const Operand<std::int64_t>& out);

/// To the session's GPU and back. to_device() throws gpu::NoGpu, gpu::OutOfMemory, as Session::gpu() does.
template <class T>
DeviceArray<T> to_device(Session& session, const View<const T>& view);
template <class T>
void to_host(Session& session, const DeviceArray<T>& array, const View<T>& out);
/// Room on the session's GPU for a result; of unified memory if `unified`, by default if Session::unified().
template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape, bool unified);
template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape) {
    return empty_on_device<T>(session, shape, session.unified());
}
/// Copies all elements into `to`, of the same shape, on any GPU: from the host, or from GPU to GPU, through the host where
/// these do not reach each other's memory. On the session's stream; complete there, and on the host if `from` is there.
template <class T>
void copy(Session& session, const Operand<const T>& from, const DeviceArray<T>& to);

}  // namespace glint::arrays
