// The costs of operations on arrays, for a decision without running the operation.
//
//     using namespace glint::arrays;
//     const Work work = matmul_work<float>({4096, 4096}, {4096, 4096});
//     std::puts(session.explain(work).reason().c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/arrays/array.hpp"
#include "glint/arrays/expression.hpp"
#include "glint/offload/decision.hpp"

namespace glint::arrays {

using offload::Work;

/// Where the operands are and the result is needed.
struct Residency {
    bool inputs_on_gpu = false, result_on_gpu = false;
    double expected_reuse = 1;  ///< number of operations that will use the uploaded inputs, including this one
};

/// Returns the Work of matmul() for operands of these shapes. T: float or double.
template <class T>
Work matmul_work(const Shape& a, const Shape& b, const Residency& residency = {});
/// Returns the Work of fft() or, if `real`, of rfft() and irfft(). `shape`: the shape of the complex array or, if
/// `real`, of the real array. T: the type of a complex array's parts.
template <class T>
Work fft_work(const Shape& shape, int rank = 1, bool real = false, const Residency& residency = {});
/// Returns the Work of the operation with this name in glint/arrays/operations.hpp. `vectors`: whether vectors are
/// computed. `columns`: of the right-hand side.
template <class T>
Work svd_work(const Shape& a, bool vectors = true, const Residency& residency = {});
template <class T>
Work solve_work(const Shape& a, std::int64_t columns, const Residency& residency = {});
template <class T>
Work eigh_work(const Shape& a, bool vectors = true, const Residency& residency = {});
template <class T>
Work qr_work(const Shape& a, const Residency& residency = {});
template <class T>
Work map_work(const Program& program, const Shape& shape, const Residency& residency = {});
template <class T>
Work reduce_work(const Program& program, const Shape& shape, const Residency& residency = {});
/// Returns the Work of reduce_axis() along the middle of `shape`: (outer, n, inner). T: also std::int64_t.
template <class T>
Work reduce_axis_work(const Shape& shape, const Residency& residency = {});

}  // namespace glint::arrays
