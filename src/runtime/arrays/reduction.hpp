// Combines two results of a reduction into one, for the CPU and for GPU threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "arrays/evaluate.hpp"
#include "glint/arrays/operations.hpp"

namespace glint::arrays {

/// The type in which sums, products and extremes of T are computed.
template <class T>
struct AccumulatorOf {
    using type = double;
};
template <>
struct AccumulatorOf<long long> {
    using type = long long;
};
template <>
struct AccumulatorOf<long> {
    using type = long long;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

/// A result, and its position (for argmin and argmax).
template <class A>
struct Found {
    A value;
    long long at;
};

constexpr bool is_position(Reduction reduction) {
    return reduction == Reduction::argmin || reduction == Reduction::argmax;
}

static GLINT_DEVICE double plus(double a, double b) { return a + b; }
static GLINT_DEVICE double times(double a, double b) { return a * b; }
static GLINT_DEVICE long long plus(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
static GLINT_DEVICE long long times(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
}

/// Returns which of two elements argmin (`sign` 1) or argmax (-1) finds: NaN before all, else the first of equal ones.
template <class A>
static GLINT_DEVICE bool is_before(A a, long long a_at, A b, long long b_at, bool least) {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan != b_nan) return a_nan;
    if (a_nan || a == b) return a_at < b_at;
    return least ? a < b : a > b;
}

template <class A>
static GLINT_DEVICE Found<A> join(Reduction reduction, Found<A> a, Found<A> b) {
    switch (reduction) {
        case Reduction::product: return {times(a.value, b.value), 0};
        case Reduction::minimum: return {least(a.value, b.value), 0};
        case Reduction::maximum: return {greatest(a.value, b.value), 0};
        case Reduction::argmin:
        case Reduction::argmax: return is_before(a.value, a.at, b.value, b.at, reduction == Reduction::argmin) ? a : b;
        default: return {plus(a.value, b.value), 0};
    }
}

}  // namespace glint::arrays
