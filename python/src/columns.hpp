// Columns of a table to and from NumPy arrays.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace glint::python {

/// Arrays over the memory of one C++ table, which lives as long as any of them: nothing is copied.
template <class Table>
class Columns {
  public:
    explicit Columns(Table&& table)
        : table_(new Table(std::move(table))),
          owner_(table_, [](void* of) noexcept { delete static_cast<Table*>(of); }) {}

    Table& table() { return *table_; }
    template <class T>
    void add(const std::string& name, std::vector<T>& values) {
        add_as<T>(name, values.data(), values.size());
    }
    template <class T>
    void add_as(const std::string& name, void* data, std::size_t count) {
        static T none;  // an array of no elements wants an address too
        T* begin = count ? static_cast<T*>(data) : &none;
        arrays_[name.c_str()] = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(begin, {count}, owner_);
    }
    nanobind::dict take() { return std::move(arrays_); }

  private:
    Table* table_;
    nanobind::capsule owner_;
    nanobind::dict arrays_;
};

template <class T>
using Vector = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::vector<T> vector_of(const Vector<T>& array) {
    return {array.data(), array.data() + array.size()};
}

}  // namespace glint::python
