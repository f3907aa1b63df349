// Elements of any type, anywhere in a piece of a GPU's memory: what slices, transposes and conversions need.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "glint/offload/session.hpp"

namespace glint::arrays {

using offload::Session;

/// Types of elements, in NumPy's sizes. Operations compute in float32, float64, int64 and the complex types; the others are
/// converted to these.
enum class Type : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
};
constexpr int type_count = int(Type::complex128) + 1;

constexpr std::int64_t bytes_of(Type type) {
    constexpr std::int64_t bytes[type_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};
    return bytes[int(type)];
}
const char* name_of(Type type);  ///< NumPy's
/// Throws OptionError for a name that is none of these.
Type type_named(const char* name);

template <class T>
constexpr Type type_of = Type::boolean;
template <>
inline constexpr Type type_of<std::int64_t> = Type::int64;
template <>
inline constexpr Type type_of<float> = Type::float32;
template <>
inline constexpr Type type_of<double> = Type::float64;
template <>
inline constexpr Type type_of<std::complex<float>> = Type::complex64;
template <>
inline constexpr Type type_of<std::complex<double>> = Type::complex128;

constexpr int max_view_dimensions = 16;

/// Element (i, j, ...) is element first + i strides[0] + j strides[1] + ... of the memory. Copies share the memory.
struct DeviceView {
    gpu::Buffer<std::byte> memory = {};
    Type type = Type::float32;
    std::vector<std::int64_t> shape = {}, strides = {};  ///< strides: in elements; 0 repeats, negative goes backwards
    std::int64_t first = 0;

    std::int64_t count() const;
    bool is_contiguous() const;  ///< in C order, without gaps
    /// Throws OptionError unless all elements are in the memory, with at most max_view_dimensions dimensions.
    void require_inside() const;
};

/// Without gaps, in C order, uninitialised, in unified memory if `unified`. Throws as Session::gpu() does, and gpu::OutOfMemory.
DeviceView empty_view(Session& session, Type type, const std::vector<std::int64_t>& shape, bool unified = false);

/// Copies element by element, on the session's GPU, in its stream; shapes must be equal, and the elements may not overlap.
/// Types are converted as by NumPy's astype: integers keep their low bits, floats are truncated to integers, what is not 0
/// becomes true, complex numbers lose their imaginary part. Throws OptionError for more than 8 dimensions that cannot be
/// taken together.
void copy_on_device(Session& session, const DeviceView& from, const DeviceView& to);

/// to = elements at[j] of `from` along an axis; `at`, of int64 in one dimension, counts from the end where it is negative.
/// All three without gaps; `to` has the shape of `from` but for at's extent along the axis. Positions are not checked: those
/// outside -n to n - 1 read other memory.
void take_on_device(Session& session, const DeviceView& from, int axis, const DeviceView& at, const DeviceView& to);

}  // namespace glint::arrays
