// Conversion of table columns to and from NumPy arrays.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace glint::python {

/// Arrays over the memory of a C++ table, without a copy. They share its ownership.
class Columns {
  public:
    explicit Columns(nanobind::handle owner) : owner_(owner) {}

    template <class T>
    void add(const std::string& name, std::vector<T>& values) {
        add_as<T>(name, values.data(), values.size());
    }
    template <class T>
    void add_if_known(const std::string& name, std::vector<T>& values) {
        if (!values.empty()) add(name, values);
    }
    template <class T>
    void add_as(const std::string& name, void* data, std::size_t count) {
        static T none;  // an empty array needs an address, too
        T* begin = count ? static_cast<T*>(data) : &none;
        arrays_[name.c_str()] =
            nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(begin, {count}, owner_));
    }
    /// Adds an array that owns its values.
    template <class T>
    void add_copy(const std::string& name, std::vector<T> values) {
        auto memory = std::make_unique<std::vector<T>>(std::move(values));
        nanobind::capsule owner(memory.get(), [](void* of) noexcept { delete static_cast<std::vector<T>*>(of); });
        std::vector<T>& kept = *memory.release();
        Columns own(owner);
        own.add(name, kept);
        arrays_.update(own.take());
    }
    nanobind::dict take() { return std::move(arrays_); }

  private:
    nanobind::handle owner_;
    nanobind::dict arrays_;
};

/// Moves a value into a capsule that owns it for arrays.
template <class T>
std::pair<T*, nanobind::capsule> kept(T&& value) {
    auto memory = std::make_unique<T>(std::move(value));
    nanobind::capsule owner(memory.get(), [](void* of) noexcept { delete static_cast<T*>(of); });
    return {memory.release(), std::move(owner)};
}

/// Returns a copy of a map of the sensor as an array (height, width); None for an empty map.
template <class T>
nanobind::object map_of(std::vector<T> map, int width, int height) {
    if (map.empty()) return nanobind::none();
    const auto [values, owner] = kept(std::move(map));
    const std::size_t shape[] = {std::size_t(height), std::size_t(width)};
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(values->data(), 2, shape, owner));
}

template <class T>
using Vector = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::vector<T> vector_of(const Vector<T>& array) {
    return {array.data(), array.data() + array.size()};
}

}  // namespace glint::python
