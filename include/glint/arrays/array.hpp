// Arrays of up to four dimensions, on the host or on a GPU, as the operations on arrays take them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "glint/gpu/buffer.hpp"

namespace glint::arrays {

constexpr int max_dimensions = 4;

/// Extents, outermost first. None: a single element.
struct Shape {
    std::array<std::int64_t, max_dimensions> extent{};
    int dimensions = 0;

    Shape() = default;
    /// Throws OptionError for more than max_dimensions, a negative extent, or more elements than an int64 counts.
    Shape(std::initializer_list<std::int64_t> extents);

    std::int64_t operator[](int k) const { return extent[k]; }
    std::int64_t count() const {  ///< of elements
        std::int64_t n = 1;
        for (int k = 0; k < dimensions; ++k) n *= extent[k];
        return n;
    }
    bool operator==(const Shape& other) const;
};

/// Distances between neighbours along each dimension, in elements; may be 0 (the same element again) or negative.
using Strides = std::array<std::int64_t, max_dimensions>;
/// Those of an array without gaps, the last dimension fastest (C order).
Strides contiguous(const Shape& shape);

/// Somebody's elements in host memory. Does not own them.
template <class T>
struct View {
    T* data = nullptr;
    Shape shape;
    Strides strides{};

    View() = default;
    View(T* elements, const Shape& of) : data(elements), shape(of), strides(contiguous(of)) {}
    View(T* elements, const Shape& of, const Strides& apart) : data(elements), shape(of), strides(apart) {}
    operator View<const T>() const requires(!std::is_const_v<T>) { return {data, shape, strides}; }
    bool is_contiguous() const;
};

/// Of one shape, which may not overlap.
template <class T>
void copy_elements(const View<const T>& from, const View<T>& to);

/// Elements on a GPU, without gaps, in C order. Copies share the memory.
template <class T>
struct DeviceArray {
    gpu::Buffer<T> buffer;
    Shape shape;
};

/// An argument of an operation: a View or a DeviceArray. T is const for what is only read. Does not own a View's
/// elements; does hold a DeviceArray's.
template <class T>
class Operand {
  public:
    using Element = std::remove_const_t<T>;
    Operand() = default;  ///< nothing: for results that are not wanted
    Operand(const View<T>& view) : view_(view), given_(true) {}
    Operand(const View<Element>& view) requires std::is_const_v<T> : view_(view), given_(true) {}
    Operand(const DeviceArray<Element>& array) : device_(array), on_device_(true), given_(true) {}

    explicit operator bool() const { return given_; }
    bool on_device() const { return on_device_; }
    const Shape& shape() const { return on_device_ ? device_.shape : view_.shape; }
    std::uint64_t bytes() const { return std::uint64_t(shape().count()) * sizeof(Element); }
    const View<T>& view() const { return view_; }                         ///< when not on a device
    const DeviceArray<Element>& device_array() const { return device_; }  ///< when on one

  private:
    View<T> view_;
    DeviceArray<Element> device_;
    bool on_device_ = false, given_ = false;
};

}  // namespace glint::arrays
