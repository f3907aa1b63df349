// Views of elements of any type in the memory of a GPU, for slices, transposes and conversions.
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

/// Types of elements, with the sizes of NumPy's types. Operations compute in float32, float64, int64 and the complex
/// types. Elements of other types are converted first.
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

/// Returns the bytes of an element.
constexpr std::int64_t num_bytes(Type type) {
    constexpr std::int64_t bytes[type_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};
    return bytes[int(type)];
}
/// Returns NumPy's name of a type.
const char* to_name(Type type);
/// Returns the type with a name of NumPy. Throws OptionError for an unknown name.
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

    std::int64_t count() const;  ///< number of elements
    bool is_contiguous() const;  ///< whether in C order, without gaps
    /// Throws OptionError if an element is outside the memory, or there are more than max_view_dimensions dimensions.
    void require_inside() const;
};

/// Returns an uninitialised array without gaps, in C order; in unified memory if `unified`. Throws gpu::OutOfMemory,
/// what Session::stream() throws, and OptionError for an invalid shape.
DeviceView empty_view(Session& session, Type type, const std::vector<std::int64_t>& shape, bool unified = false);

/// Copies element by element on the session's GPU, in its stream. Shapes must be equal, and the elements must not
/// overlap. Types are converted as by NumPy's astype:
/// - integers keep their low bits;
/// - floats are truncated to integers;
/// - nonzero values become true;
/// - complex numbers lose their imaginary part.
///
/// Throws OptionError if more than 8 dimensions remain after merging.
void copy_on_device(Session& session, const DeviceView& from, const DeviceView& to);

/// Sets `to` to the elements at[j] of `from` along an axis. `at` is a one-dimensional int64 array; negative positions
/// count from the end. All three arrays are without gaps. `to` has the shape of `from`, except along the axis, where it
/// has the extent of `at`. Throws OptionError for other shapes or types.
///
/// Does not check positions: a position outside -n to n - 1 reads other memory.
void take_on_device(Session& session, const DeviceView& from, int axis, const DeviceView& at, const DeviceView& to);

}  // namespace glint::arrays
