// Reads and writes one element of any type, for the CPU and for GPU threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "glint/arrays/device_view.hpp"
#include "gpu/kernel_abi.hpp"

namespace glint::arrays {

/// An element; as an integer if its type is an integer type.
struct Number {
    long long whole = 0;
    double real = 0, imaginary = 0;
    bool is_whole = false, is_unsigned = false;
};

/// The value of a float16.
static GLINT_DEVICE double of_half(unsigned short bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction ? double(NAN) : HUGE_VAL)
                   : exponent == 0 ? ::ldexp(double(fraction), -24)
                                   : ::ldexp(double(fraction + 1024), exponent - 25);
    return bits & 0x8000 ? -value : value;
}

/// The nearest float16, halves to even.
static GLINT_DEVICE unsigned short to_half(double value) {
    const double size = ::fabs(value);
    unsigned short bits = 0;
    if (value != value) {
        bits = 0x7e00;
    } else if (size >= 65520) {
        bits = 0x7c00;
    } else if (size < ::ldexp(1.0, -14)) {  // in units of the smallest float16
        bits = (unsigned short)(int(::rint(::ldexp(size, 24))));
    } else {  // a fraction that is rounded up to 2048 carries into the exponent
        int exponent = 0;
        const double fraction = ::frexp(size, &exponent);
        bits = (unsigned short)(((exponent + 13) << 10) + int(::rint(fraction * 2048)));
    }
    return ::copysign(1.0, value) < 0 ? bits | 0x8000 : bits;
}

template <class T>
static GLINT_DEVICE T element(const unsigned char* at, long long k) {
    return reinterpret_cast<const T*>(at)[k];
}

static GLINT_DEVICE Number whole_number(long long value, bool is_unsigned = false) {
    return {value, 0, 0, true, is_unsigned};
}

/// The k-th element at `at`.
static GLINT_DEVICE Number read_number(Type type, const unsigned char* at, long long k) {
    switch (type) {
        case Type::boolean: return whole_number(element<unsigned char>(at, k) != 0);
        case Type::int8: return whole_number(element<signed char>(at, k));
        case Type::int16: return whole_number(element<short>(at, k));
        case Type::int32: return whole_number(element<int>(at, k));
        case Type::int64: return whole_number(element<long long>(at, k));
        case Type::uint8: return whole_number(element<unsigned char>(at, k));
        case Type::uint16: return whole_number(element<unsigned short>(at, k));
        case Type::uint32: return whole_number(element<unsigned>(at, k));
        case Type::uint64: return whole_number((long long)element<unsigned long long>(at, k), true);
        case Type::float16: return {0, of_half(element<unsigned short>(at, k)), 0, false, false};
        case Type::float32: return {0, element<float>(at, k), 0, false, false};
        case Type::float64: return {0, element<double>(at, k), 0, false, false};
        case Type::complex64: return {0, element<float>(at, 2 * k), element<float>(at, 2 * k + 1), false, false};
        case Type::complex128: return {0, element<double>(at, 2 * k), element<double>(at, 2 * k + 1), false, false};
    }
    return {};
}

/// Truncates. Returns an unspecified integer for NaN, and for values outside the range of `bits` bits.
static GLINT_DEVICE long long to_whole(const Number& number) {
    if (number.is_whole) return number.whole;
    constexpr double beyond = 9223372036854775808.0;
    if (!(number.real >= -beyond)) return -0x7fffffffffffffffLL - 1;
    if (number.real < beyond) return (long long)number.real;
    return number.real < 2 * beyond ? (long long)(unsigned long long)number.real : -0x7fffffffffffffffLL - 1;
}

template <class F>
static GLINT_DEVICE F to_float(const Number& number) {
    if (!number.is_whole) return F(number.real);
    return number.is_unsigned ? F((unsigned long long)number.whole) : F(number.whole);
}

template <class T>
static GLINT_DEVICE void put(unsigned char* at, long long k, T value) {
    reinterpret_cast<T*>(at)[k] = value;
}

static GLINT_DEVICE void write_number(Type type, unsigned char* at, long long k, const Number& number) {
    switch (type) {
        case Type::boolean:
            put<unsigned char>(at, k, number.is_whole ? number.whole != 0 : number.real != 0 || number.imaginary != 0);
            break;
        case Type::int8:
        case Type::uint8: put<unsigned char>(at, k, (unsigned char)to_whole(number)); break;
        case Type::int16:
        case Type::uint16: put<unsigned short>(at, k, (unsigned short)to_whole(number)); break;
        case Type::int32:
        case Type::uint32: put<unsigned>(at, k, (unsigned)to_whole(number)); break;
        case Type::int64:
        case Type::uint64: put<long long>(at, k, to_whole(number)); break;
        case Type::float16: put<unsigned short>(at, k, to_half(to_float<double>(number))); break;
        case Type::float32: put<float>(at, k, to_float<float>(number)); break;
        case Type::float64: put<double>(at, k, to_float<double>(number)); break;
        case Type::complex64:
            put<float>(at, 2 * k, to_float<float>(number));
            put<float>(at, 2 * k + 1, float(number.imaginary));
            break;
        case Type::complex128:
            put<double>(at, 2 * k, to_float<double>(number));
            put<double>(at, 2 * k + 1, number.imaginary);
            break;
    }
}

}  // namespace glint::arrays
