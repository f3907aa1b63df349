// Operations on arrays. Each runs on the CPU or on a GPU, whichever is expected to finish first.
//
//     using namespace glint::arrays;
//     std::vector<float> a(1000 * 500), b(500 * 200), c(1000 * 200);
//     glint::offload::Session session;
//     matmul<float>(session, View<const float>(a.data(), {1000, 500}), View<const float>(b.data(), {500, 200}),
//                   View<float>(c.data(), {1000, 200}));
//     std::puts(session.statistics().total().gpu.calls ? "on a GPU" : "on the CPU");
//
// Operands on a GPU stay there. The result is where the caller's operand for it is. An operation writes all elements of
// a result and reads none. A result must not overlap an input, except that map() may write to one of its inputs.
// Operations of a Session run one after the other. Results on the host are complete when the call returns, results on a
// GPU in the order of the session's stream.
//
// All throw OptionError if shapes do not match (the message contains both shapes), or if a library for the CPU
// (OpenBLAS, FFTW) is missing. If the GPU is used and Session::run() does not fall back, they throw its gpu::GpuError.
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

/// Computes c = a b for matrices a (m, k), b (k, n), c (m, n), or for stacks with one or two further dimensions in
/// front. In these dimensions, extents of a and b may be 1 or missing (broadcasting). T: float or double.
template <class T>
void matmul(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c);

/// Options of fft().
struct FftOptions {
    int rank = 1;          ///< transforms the last 1 or 2 dimensions
    bool inverse = false;  ///< the inverse transform, divided by the number of its elements as in NumPy
};

/// Computes discrete Fourier transforms along the last dimensions, for each element of the remaining dimensions. Both
/// shapes are equal. T: float or double.
template <class T>
void fft(Session& session, const Operand<const std::complex<T>>& in, const Operand<std::complex<T>>& out,
         const FftOptions& options = {});
/// Transforms real values. If `in` has n elements in the last dimension, `out` has n / 2 + 1.
template <class T>
void rfft(Session& session, const Operand<const T>& in, const Operand<std::complex<T>>& out, int rank = 1);
/// Computes the inverse of rfft(): `out` has n elements in the last dimension, and `in` has n / 2 + 1. Divides by the
/// number of elements, as the complex inverse.
template <class T>
void irfft(Session& session, const Operand<const std::complex<T>>& in, const Operand<T>& out, int rank = 1);

/// The iteration of a decomposition did not converge.
class NotConverged : public Error {
  public:
    using Error::Error;
};

/// Computes the singular value decomposition a = u diag(s) vt of a matrix a (m, n). The singular values s (k), k =
/// min(m, n), are in descending order. The vectors are u (m, k) and vt (k, n), or the full orthogonal matrices u (m, m)
/// and vt (n, n); give both or neither. T: float or double. Throws OptionError for a NaN or infinity in `a`, and
/// NotConverged.
template <class T>
void svd(Session& session, const Operand<const T>& a, const Operand<T>& s, const Operand<T>& u = {},
         const Operand<T>& vt = {});

/// Solves a x = b for a (n, n), b and x (n, k). T: float or double. Throws OptionError for a singular matrix.
template <class T>
void solve(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& x);

/// Solves the symmetric eigenproblem a = v diag(w) v^T for a (n, n). Reads only the lower triangle of a. The
/// eigenvalues w (n) are in ascending order. The columns of v (n, n), if given, are the eigenvectors. T: float or
/// double. Throws as svd().
template <class T>
void eigh(Session& session, const Operand<const T>& a, const Operand<T>& w, const Operand<T>& v = {});

/// Computes the decomposition a = q r of a (m, n), with k = min(m, n): orthonormal columns q (m, k), and r (k, n), zero
/// below the diagonal. T: float or double.
template <class T>
void qr(Session& session, const Operand<const T>& a, const Operand<T>& q, const Operand<T>& r);

/// Computes `out` from the inputs, element by element. Inputs have the shape of `out`, or one element. T: float,
/// double, or std::int64_t, which computes modulo 2^64. Throws OptionError for a step that is not defined for integers.
template <class T>
void map(Session& session, const Program& program, const std::vector<Operand<const T>>& inputs, const Operand<T>& out);
template <class T>
void map(Session& session, const Expression& expression, const std::vector<Operand<const T>>& inputs,
         const Operand<T>& out) {
    map<T>(session, compile(expression), inputs, out);
}

/// How elements are combined. `argmin`, `argmax`: the position of the minimum or maximum.
enum class Reduction { sum, mean, minimum, maximum, product, argmin, argmax };

/// Returns the sum (in double precision), mean, minimum or maximum of a program's values over all elements. The inputs
/// have one common shape, or one element. NaN if any value is NaN. Without elements, the sum is 0 and the mean NaN.
/// Throws OptionError for other reductions, and for the minimum or maximum of no elements.
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
/// Computes, for Reduction::argmin or argmax, the position of the first minimum or maximum along the middle of three
/// dimensions, or of the first NaN if any value is NaN. Shapes as for reduce_axis().
template <class T>
void find_along_axis(Session& session, Reduction reduction, const Operand<const T>& in,
                     const Operand<std::int64_t>& out);

/// Returns a copy of the elements on the session's GPU. Throws gpu::OutOfMemory, and what Session::stream() throws.
template <class T>
DeviceArray<T> to_device(Session& session, const View<const T>& view);
/// Copies the elements to the host. `out` is complete when the call returns.
template <class T>
void to_host(Session& session, const DeviceArray<T>& array, const View<T>& out);
/// Returns an uninitialised array on the session's GPU; in unified memory if `unified`, by default if
/// Session::unified(). Throws as to_device().
template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape, bool unified);
template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape) {
    return empty_on_device<T>(session, shape, session.unified());
}
/// Copies all elements to an array of the same shape on any GPU. The source is on the host or on a GPU. Copies between
/// GPUs without peer access are staged through the host. Runs on the session's stream. The host may reuse its elements
/// when the call returns.
template <class T>
void copy(Session& session, const Operand<const T>& from, const DeviceArray<T>& to);

}  // namespace glint::arrays
