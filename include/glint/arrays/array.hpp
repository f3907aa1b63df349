// Arrays of up to four dimensions, on the host or on a GPU: the arguments of the operations on arrays.
//
//     std::vector<float> elements(1000 * 500);
//     const glint::arrays::View<float> matrix(elements.data(), {1000, 500});  // does not own the elements
//     glint::offload::Session session;
//     const glint::arrays::DeviceArray<float> on_gpu = glint::arrays::to_device<float>(session, matrix);
//     std::printf("%lld elements on the GPU\n", (long long)on_gpu.shape.count());
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "glint/gpu/buffer.hpp"

namespace glint::arrays {

constexpr int max_dimensions = 4;

/// The extents of an array, outermost first. Without dimensions: a single element.
struct Shape {
    std::array<std::int64_t, max_dimensions> extent{};
    int dimensions = 0;

    Shape() = default;
    /// Throws OptionError for more than max_dimensions, a negative extent, or more elements than an int64 counts.
    Shape(std::initializer_list<std::int64_t> extents);

    std::int64_t operator[](int k) const { return extent[k]; }
    /// Returns the number of elements.
    std::int64_t count() const {
        std::int64_t n = 1;
        for (int k = 0; k < dimensions; ++k) n *= extent[k];
        return n;
    }
    bool operator==(const Shape& other) const;
};

/// Distances between neighbours along each dimension, in elements. 0 repeats an element; negative goes backwards.
using Strides = std::array<std::int64_t, max_dimensions>;
/// Returns the strides of an array without gaps, the last dimension fastest (C order).
Strides contiguous(const Shape& shape);

/// Elements in host memory that another object owns.
template <class T>
struct View {
    T* data = nullptr;
    Shape shape;
    Strides strides{};

    View() = default;
    View(T* elements, const Shape& of) : data(elements), shape(of), strides(contiguous(of)) {}
    View(T* elements, const Shape& of, const Strides& apart) : data(elements), shape(of), strides(apart) {}
    operator View<const T>() const requires(!std::is_const_v<T>) { return {data, shape, strides}; }
    bool is_contiguous() const;  ///< whether in C order, without gaps
};

/// Copies the elements between two views of the same shape, which is not checked. The views must not overlap.
template <class T>
void copy_elements(const View<const T>& from, const View<T>& to);

/// Elements on a GPU, without gaps, in C order. Copies share the memory, which the last copy frees.
template <class T>
struct DeviceArray {
    gpu::Buffer<T> buffer;
    Shape shape;
};

/// An argument of an operation: a View or a DeviceArray. T is const for inputs. An Operand does not own the elements of
/// a View; it shares the memory of a DeviceArray.
template <class T>
class Operand {
  public:
    using Element = std::remove_const_t<T>;
    Operand() = default;  ///< empty: the operation does not compute this result
    Operand(const View<T>& view) : view_(view), given_(true) {}
    Operand(const View<Element>& view) requires std::is_const_v<T> : view_(view), given_(true) {}
    Operand(const DeviceArray<Element>& array) : device_(array), on_device_(true), given_(true) {}

    explicit operator bool() const { return given_; }
    bool on_device() const { return on_device_; }
    const Shape& shape() const { return on_device_ ? device_.shape : view_.shape; }
    std::uint64_t bytes() const { return std::uint64_t(shape().count()) * sizeof(Element); }
    const View<T>& view() const { return view_; }                         ///< valid unless on_device()
    const DeviceArray<Element>& device_array() const { return device_; }  ///< valid if on_device()

  private:
    View<T> view_;
    DeviceArray<Element> device_;
    bool on_device_ = false, given_ = false;
};

}  // namespace glint::arrays
