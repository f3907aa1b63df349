// The arithmetic of each step of a Program, defined once: for the CPU's loops over blocks, for GPU threads, and for
// constant folding when an expression is built.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <type_traits>

#include "glint/arrays/expression.hpp"
#include "gpu/kernel_abi.hpp"

namespace glint::arrays {

constexpr int step_count = int(Step::fused_multiply_add) + 1;

/// The number of registers (a, b, c) that a step reads.
constexpr int operands_of(Step step) {
    return step <= Step::input       ? 0
           : step <= Step::hypot     ? 2
           : step <= Step::is_nan    ? 1
           : step <= Step::not_equal ? 2
                                     : 3;
}

/// C's functions for both types. They are static, and replace those of namespace std: files that are compiled per
/// instruction set must not use inline functions of the standard library (base/isa.hpp).
namespace math {
#define GLINT_OF_ONE(name)                                           \
    static GLINT_DEVICE float name(float x) { return ::name##f(x); } \
    static GLINT_DEVICE double name(double x) { return ::name(x); }
#define GLINT_OF_TWO(name)                                                       \
    static GLINT_DEVICE float name(float x, float y) { return ::name##f(x, y); } \
    static GLINT_DEVICE double name(double x, double y) { return ::name(x, y); }
GLINT_OF_ONE(fabs)
GLINT_OF_ONE(sqrt)
GLINT_OF_ONE(exp)
GLINT_OF_ONE(log)
GLINT_OF_ONE(log2)
GLINT_OF_ONE(log10)
GLINT_OF_ONE(log1p)
GLINT_OF_ONE(expm1)
GLINT_OF_ONE(sin)
GLINT_OF_ONE(cos)
GLINT_OF_ONE(tan)
GLINT_OF_ONE(asin)
GLINT_OF_ONE(acos)
GLINT_OF_ONE(atan)
GLINT_OF_ONE(sinh)
GLINT_OF_ONE(cosh)
GLINT_OF_ONE(tanh)
GLINT_OF_ONE(erf)
GLINT_OF_ONE(floor)
GLINT_OF_ONE(ceil)
GLINT_OF_ONE(rint)
GLINT_OF_ONE(trunc)
GLINT_OF_TWO(pow)
GLINT_OF_TWO(fmod)
GLINT_OF_TWO(atan2)
GLINT_OF_TWO(hypot)
GLINT_OF_TWO(copysign)
#undef GLINT_OF_ONE
#undef GLINT_OF_TWO
}  // namespace math

// NumPy's semantics. Tests are joined by | and &, which can be vectorised, whereas || would branch.

template <class T>
static GLINT_DEVICE T least(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
}

template <class T>
static GLINT_DEVICE T greatest(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

template <class T>
static GLINT_DEVICE T remainder_of(T a, T b) {
    const T rest = math::fmod(a, b);
    if (rest == 0) return math::copysign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
static GLINT_DEVICE T sign_of(T a) {
    return a > 0 ? T(1) : a < 0 ? T(-1) : a + T(0);  // NaN stays, -0 becomes 0
}

/// Whether the step is defined for integers.
constexpr bool is_of_integers(Step step) {
    switch (step) {
        case Step::square_root:
        case Step::reciprocal:
        case Step::atan2:
        case Step::hypot: return false;
        default: return step < Step::exp || step > Step::erf;
    }
}

/// For integers, modulo 2^64. Quotients are truncated; a quotient by 0 is 0, as in NumPy. A negative power is 0,
/// except for 1 and -1.
template <class T>
requires std::is_integral_v<T>
static GLINT_DEVICE T apply(Step step, T a, T b, T c, double value) {
    using U = std::make_unsigned_t<T>;
    switch (step) {
        case Step::constant: return T(value);
        case Step::input: return a;
        case Step::add: return T(U(a) + U(b));
        case Step::subtract: return T(U(a) - U(b));
        case Step::multiply: return T(U(a) * U(b));
        case Step::divide: return b == 0 ? 0 : b == -1 ? T(U(0) - U(a)) : a / b;
        case Step::power: {
            if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
            U result = 1, square = U(a);
            for (; b > 0; b >>= 1, square *= square)
                if (b & 1) result *= square;
            return T(result);
        }
        case Step::minimum: return a < b ? a : b;
        case Step::maximum: return a > b ? a : b;
        case Step::remainder: {
            if (b == 0 || b == -1) return 0;
            const T rest = a % b;
            return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
        }
        case Step::negate: return T(U(0) - U(a));
        case Step::absolute: return a < 0 ? T(U(0) - U(a)) : a;
        case Step::square: return T(U(a) * U(a));
        case Step::sign: return a > 0 ? 1 : a < 0 ? -1 : 0;
        case Step::is_nan: return 0;
        case Step::less: return a < b;
        case Step::less_equal: return a <= b;
        case Step::equal: return a == b;
        case Step::not_equal: return a != b;
        case Step::select: return a != 0 ? b : c;
        case Step::fused_multiply_add: return T(U(a) * U(b) + U(c));
        default: return a;  // floor, ceil, round, trunc
    }
}

/// Computes one step on one element. `value`: the value of a constant. The caller passes an input as `a`.
template <class T>
requires std::is_floating_point_v<T>
static GLINT_DEVICE T apply(Step step, T a, T b, T c, double value) {
    switch (step) {
        case Step::constant: return T(value);
        case Step::input: return a;
        case Step::add: return a + b;
        case Step::subtract: return a - b;
        case Step::multiply: return a * b;
        case Step::divide: return a / b;
        case Step::power: return math::pow(a, b);
        case Step::minimum: return least(a, b);
        case Step::maximum: return greatest(a, b);
        case Step::remainder: return remainder_of(a, b);
        case Step::atan2: return math::atan2(a, b);
        case Step::hypot: return math::hypot(a, b);
        case Step::negate: return -a;
        case Step::absolute: return math::fabs(a);
        case Step::square: return a * a;
        case Step::square_root: return math::sqrt(a);
        case Step::reciprocal: return T(1) / a;
        case Step::exp: return math::exp(a);
        case Step::log: return math::log(a);
        case Step::log2: return math::log2(a);
        case Step::log10: return math::log10(a);
        case Step::log1p: return math::log1p(a);
        case Step::expm1: return math::expm1(a);
        case Step::sin: return math::sin(a);
        case Step::cos: return math::cos(a);
        case Step::tan: return math::tan(a);
        case Step::asin: return math::asin(a);
        case Step::acos: return math::acos(a);
        case Step::atan: return math::atan(a);
        case Step::sinh: return math::sinh(a);
        case Step::cosh: return math::cosh(a);
        case Step::tanh: return math::tanh(a);
        case Step::erf: return math::erf(a);
        case Step::floor: return math::floor(a);
        case Step::ceil: return math::ceil(a);
        case Step::round: return math::rint(a);
        case Step::trunc: return math::trunc(a);
        case Step::sign: return sign_of(a);
        case Step::is_nan: return a != a ? T(1) : T(0);
        case Step::less: return a < b ? T(1) : T(0);
        case Step::less_equal: return a <= b ? T(1) : T(0);
        case Step::equal: return a == b ? T(1) : T(0);
        case Step::not_equal: return a != b ? T(1) : T(0);
        case Step::select: return a != 0 ? b : c;
        case Step::fused_multiply_add: return a * b + c;
    }
    return a;
}

}  // namespace glint::arrays
