// The inner loops of map and reduce, written so that the compiler vectorises them: one source, every instruction set.
// SPDX-License-Identifier: MIT
#include "arrays/cpu_steps.hpp"

#include <math.h>

// glibc has vector versions of C's functions (libmvec, within 4 units in the last place; NaN and infinities as in C).
// Its headers offer them only with -ffast-math, which would give up NaN everywhere.
#if defined(__x86_64__) && !defined(__clang__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#define GLINT_VECTOR(name)                                                    \
    __attribute__((simd("notinbranch"))) float name##f(float) noexcept(true); \
    __attribute__((simd("notinbranch"))) double name(double) noexcept(true);
#define GLINT_VECTOR_OF_TWO(name)                                                    \
    __attribute__((simd("notinbranch"))) float name##f(float, float) noexcept(true); \
    __attribute__((simd("notinbranch"))) double name(double, double) noexcept(true);
extern "C" {
GLINT_VECTOR(exp)
GLINT_VECTOR(log)
GLINT_VECTOR(log2)
GLINT_VECTOR(log10)
GLINT_VECTOR(log1p)
GLINT_VECTOR(expm1)
GLINT_VECTOR(sin)
GLINT_VECTOR(cos)
GLINT_VECTOR(tan)
GLINT_VECTOR(asin)
GLINT_VECTOR(acos)
GLINT_VECTOR(atan)
GLINT_VECTOR(sinh)
GLINT_VECTOR(cosh)
GLINT_VECTOR(tanh)
GLINT_VECTOR(erf)
GLINT_VECTOR_OF_TWO(pow)
GLINT_VECTOR_OF_TWO(atan2)
GLINT_VECTOR_OF_TWO(hypot)
}
#endif

#include "arrays/evaluate.hpp"

namespace glint::GLINT_ISA {
namespace {

using arrays::Instruction;
using arrays::Step;

template <class T, Step step>
void loop(T* to, const T* a, const T* b, const T* c, T value, std::int64_t groups) {
    const std::int64_t n = groups * step_group;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
        constexpr int reads = arrays::operands_of(step);
        to[i] = arrays::apply<T>(step, reads > 0 ? a[i] : value, reads > 1 ? b[i] : value, reads > 2 ? c[i] : value,
                                 double(value));
    }
}

template <class T>
using Loop = void (*)(T*, const T*, const T*, const T*, T, std::int64_t);

template <class T, int... step>
Loop<T> loop_of(int wanted, std::integer_sequence<int, step...>) {
    static constexpr Loop<T> loops[] = {loop<T, Step(step)>...};
    return loops[wanted];
}

template <class T>
void run(const Instruction& it, T* to, const T* a, const T* b, const T* c, std::int64_t n) {
    loop_of<T>(int(it.step), std::make_integer_sequence<int, arrays::step_count>())(to, a, b, c, T(it.value),
                                                                                    n / step_group);
}

template <class T>
constexpr int lanes = 64 / sizeof(T);
template <class T>
struct VectorOf {
    typedef T Lanes __attribute__((vector_size(64)));
};
typedef double Sums __attribute__((vector_size(64)));
typedef float HalfLanes __attribute__((vector_size(32)));

template <class V, class T>
V load(const T* from) {
    V values;
    __builtin_memcpy(&values, from, sizeof values);
    return values;
}

Sums doubles(const float* from) { return __builtin_convertvector(load<HalfLanes>(from), Sums); }
Sums doubles(const double* from) { return load<Sums>(from); }

/// Several sums at a time, since an addition takes four cycles.
template <class T>
double sum(const T* values, std::int64_t n) {
    Sums a = {}, b = {}, c = {}, d = {};
    std::int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a += doubles(values + i);
        b += doubles(values + i + 8);
        c += doubles(values + i + 16);
        d += doubles(values + i + 24);
    }
    for (; i + 8 <= n; i += 8) a += doubles(values + i);
    const Sums all = (a + b) + (c + d);
    double rest = 0;
    for (; i < n; ++i) rest += double(values[i]);
    return (((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]))) + rest;
}

template <class T>
struct Least {
    static T of(T a, T b) { return arrays::least(a, b); }
    template <class V>
    static V lanes_of(V a, V b) {
        return (b < a) | (b != b) ? b : a;
    }
};
template <class T>
struct Greatest {
    static T of(T a, T b) { return arrays::greatest(a, b); }
    template <class V>
    static V lanes_of(V a, V b) {
        return (b > a) | (b != b) ? b : a;
    }
};

template <class Pick, class T>
T extreme(const T* values, std::int64_t n) {
    using Lanes = typename VectorOf<T>::Lanes;
    T found = values[0];
    std::int64_t i = 0;
    if (n >= 2 * lanes<T>) {
        Lanes a = load<Lanes>(values), b = a;
        for (; i + 2 * lanes<T> <= n; i += 2 * lanes<T>) {
            a = Pick::lanes_of(a, load<Lanes>(values + i));
            b = Pick::lanes_of(b, load<Lanes>(values + i + lanes<T>));
        }
        for (int k = 0; k < lanes<T>; ++k) found = Pick::of(found, Pick::of(a[k], b[k]));
    }
    for (; i < n; ++i) found = Pick::of(found, values[i]);
    return found;
}

template <class T>
void multiply_all(T* values, T by, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) values[i] *= by;
}

}  // namespace

StepLoops<float> float_loops() {
    return {run<float>, sum<float>, extreme<Least<float>, float>, extreme<Greatest<float>, float>, multiply_all<float>};
}
StepLoops<double> double_loops() {
    return {run<double>, sum<double>, extreme<Least<double>, double>, extreme<Greatest<double>, double>,
            multiply_all<double>};
}

StepLoops<std::int64_t> integer_loops() { return {run<std::int64_t>, nullptr, nullptr, nullptr, nullptr}; }

}  // namespace glint::GLINT_ISA
