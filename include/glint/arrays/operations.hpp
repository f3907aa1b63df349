// Operations on arrays. Each runs on the CPU or on a GPU, whichever is expected to finish first.
//
// Operands on a GPU stay there; the caller's operand for the result decides where the result is. All elements of a
// result are written, none is read. A result must not overlap an input; only map() may write to one of its inputs.
// Operations of one Session run one after the other. Results on the host are complete when the call returns, those on a
// GPU in the order of the session's stream. All throw OptionError for shapes that do not fit; the message contains both
// shapes.
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

/// c = a b, for matrices (m, k), (k, n), (m, n), or stacks with one or two dimensions in front. There, extents of a and
/// b may be 1 or missing (broadcasting). T: float or double.
template <class T>
void matmul(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c);

struct FftOptions {
    int rank = 1;          ///< transforms the last 1 or 2 dimensions
    bool inverse = false;  ///< the inverse transform, divided by the number of its elements as in NumPy
};

/// Discrete Fourier transforms of the last dimensions, repeated over the other ones. Both shapes are equal. T: float or
/// double.
template <class T>
void fft(Session& session, const Operand<const std::complex<T>>& in, const Operand<std::complex<T>>& out,
         const FftOptions& options = {});
/// Transforms real values: `out` has n / 2 + 1 elements in the last dimension if `in` has n.
template <class T>
void rfft(Session& session, const Operand<const T>& in, const Operand<std::complex<T>>& out, int rank = 1);
/// The inverse: `out` has n elements in the last dimension, and `in` has n / 2 + 1. Divides as the complex inverse
/// does.
template <class T>
void irfft(Session& session, const Operand<const std::complex<T>>& in, const Operand<T>& out, int rank = 1);

/// An iteration did not converge.
class NotConverged : public Error {
  public:
    using Error::Error;
};

/// a = u diag(s) vt, with singular values in descending order. The vectors are u (m, k) and vt (k, n) with k = min(m,
/// n), or the full orthogonal matrices u (m, m) and vt (n, n); give both or neither. T: float or double. Throws
/// OptionError for a NaN or infinity in `a`; NotConverged.
template <class T>
void svd(Session& session, const Operand<const T>& a, const Operand<T>& s, const Operand<T>& u = {},
         const Operand<T>& vt = {});

/// a x = b, for a (n, n), b and x (n, k). T: float or double. Throws OptionError for a singular matrix.
template <class T>
void solve(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& x);

/// Symmetric eigenproblem: a = v diag(w) v^T, for a (n, n), of which only the lower triangle is read. The eigenvalues w
/// (n) are in ascending order; the columns of v (n, n), if given, are the eigenvectors. T: float or double. Throws as
/// svd().
template <class T>
void eigh(Session& session, const Operand<const T>& a, const Operand<T>& w, const Operand<T>& v = {});

/// a = q r of a (m, n), with k = min(m, n): orthonormal columns q (m, k), and r (k, n), zero below the diagonal.
/// T: float or double.
template <class T>
void qr(Session& session, const Operand<const T>& a, const Operand<T>& q, const Operand<T>& r);

/// out = program of the inputs, element by element. Inputs have out's shape, or one element. T: float, double, or
/// std::int64_t, which computes modulo 2^64. Throws OptionError for a step that is not defined for integers.
template <class T>
void map(Session& session, const Program& program, const std::vector<Operand<const T>>& inputs, const Operand<T>& out);
template <class T>
void map(Session& session, const Expression& expression, const std::vector<Operand<const T>>& inputs,
         const Operand<T>& out) {
    map<T>(session, compile(expression), inputs, out);
}

enum class Reduction { sum, mean, minimum, maximum, product, argmin, argmax };

/// Reduces a program's value over all elements: sum (in double precision), mean, minimum or maximum. The inputs have
/// one common shape, or one element. NaN if any value is NaN. Without elements, the sum is 0 and the mean NaN; the
/// extrema throw OptionError.
template <class T>
double reduce(Session& session, Reduction reduction, const Program& program,
              const std::vector<Operand<const T>>& inputs);
template <class T>
double reduce(Session& session, Reduction reduction, const Expression& expression,
              const std::vector<Operand<const T>>& inputs) {
    return reduce<T>(session, reduction, compile(expression), inputs);
}

/// Reduces the middle of three dimensions: in (outer, n, inner) to out (outer, inner). Sums, products and means of
/// floats are computed in double precision, sums and products of integers modulo 2^64. NaN if any value is NaN. T:
/// float, double, or, except for the mean, std::int64_t. Throws OptionError for the minimum or maximum of no elements.
template <class T>
void reduce_axis(Session& session, Reduction reduction, const Operand<const T>& in, const Operand<T>& out);
/// Reduction::argmin or argmax: the position along the axis of the first minimum or maximum, or of the first NaN if any
/// value is NaN.
template <class T>
void find_along_axis(Session& session, Reduction reduction, const Operand<const T>& in,
                     const Operand<std::int64_t>& out);

/// Copies to the session's GPU, or from it. to_device() throws gpu::OutOfMemory, and what Session::stream() throws.
template <class T>
DeviceArray<T> to_device(Session& session, const View<const T>& view);
template <class T>
void to_host(Session& session, const DeviceArray<T>& array, const View<T>& out);
/// Allocates a result on the session's GPU; in unified memory if `unified`, by default if Session::unified().
template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape, bool unified);
template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape) {
    return empty_on_device<T>(session, shape, session.unified());
}
/// Copies all elements into `to`, which has the same shape, on any GPU. The source is on the host or on a GPU. Copies
/// between GPUs without peer access are staged through the host. Runs on the session's stream. The host may reuse its
/// elements when the call returns.
template <class T>
void copy(Session& session, const Operand<const T>& from, const DeviceArray<T>& to);

}  // namespace glint::arrays
