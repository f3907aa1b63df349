// Operations of given sizes on random data, for calibration and benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/arrays/operations.hpp"
#include "glint/arrays/work.hpp"

namespace glint::arrays {

/// One operation, ready to run.
struct Sample {
    Work work;                  ///< with the operands' actual place, on the host or on the GPU
    std::function<void()> run;  ///< in the session, complete when it returns
};

enum class Kind { matmul, fft, svd, map, reduce };
constexpr Kind all_kinds[] = {Kind::matmul, Kind::fft, Kind::svd, Kind::map, Kind::reduce};

/// Real numbers in an operand; `n` as below.
constexpr std::int64_t numbers_of(Kind kind, std::int64_t n) {
    return kind == Kind::matmul || kind == Kind::svd ? n * n : kind == Kind::fft ? 2 * n : n;
}

/// The Work of sample(), without allocating its operands.
template <class T>
Work sample_work(Kind kind, std::int64_t n, bool resident);

/// T: float or double. `n`: rows of a matrix, elements of an array. `resident`: operands and result on the GPU, which
/// is opened for it.
template <class T>
Sample sample(Session& session, Kind kind, std::int64_t n, bool resident);

}  // namespace glint::arrays
