// The inner loops of map and reduce, compiled once per instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/isa.hpp"
#include "glint/arrays/expression.hpp"

namespace glint {

/// Elements are processed in multiples of this number. Every element thus uses the same vector code, and its result
/// does not depend on its position.
constexpr std::int64_t step_group = 16;

/// For integers there is only `step`.
template <class T>
struct StepLoops {
    /// to[i] = step of a[i], b[i], c[i]; `to` may be one of the inputs. n: a multiple of step_group.
    void (*step)(const arrays::Instruction& step, T* to, const T* a, const T* b, const T* c, std::int64_t n);
    double (*sum)(const T* values, std::int64_t n);  // in double precision
    T (*least)(const T* values, std::int64_t n);     // NaN if one is
    T (*greatest)(const T* values, std::int64_t n);
    void (*scale)(T* values, T by, std::int64_t n);
};

GLINT_PER_ISA(StepLoops<float> float_loops(); StepLoops<double> double_loops();
              StepLoops<std::int64_t> integer_loops();)

template <class T>
StepLoops<T> step_loops() {
    if constexpr (std::is_same_v<T, float>)
        return GLINT_PICK(float_loops)();
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return GLINT_PICK(integer_loops)();
    else
        return GLINT_PICK(double_loops)();
}

}  // namespace glint
