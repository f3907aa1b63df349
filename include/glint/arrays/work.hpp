// Operations on arrays as the cost model sees them: for asking before doing.
//
//     const Work work = matmul_work<float>({4096, 4096}, {4096, 4096});
//     puts(session.explain(work).reason().c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/arrays/array.hpp"
#include "glint/arrays/expression.hpp"
#include "glint/offload/decision.hpp"

namespace glint::arrays {

using offload::Work;

/// Where operands lie and the result is wanted.
struct Residency {
    bool inputs_on_gpu = false, result_on_gpu = false;
    double expected_reuse = 1;  ///< operations that will use the inputs once they are on the GPU, this one included
};

/// Of the operations of glint/arrays/operations.hpp, on operands of these shapes. T: float or double (of a complex
/// array's parts).
template <class T>
Work matmul_work(const Shape& a, const Shape& b, const Residency& residency = {});
/// `shape`: of the complex array, or of the real one where one side is real.
template <class T>
Work fft_work(const Shape& shape, int rank = 1, bool real = false, const Residency& residency = {});
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
/// Along the middle of `shape`: (outer, n, inner). T: also std::int64_t.
template <class T>
Work reduce_axis_work(const Shape& shape, const Residency& residency = {});

}  // namespace glint::arrays
