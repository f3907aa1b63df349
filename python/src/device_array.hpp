// Arrays on a session's GPU, as Python objects and as arguments of operations.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <complex>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glint/arrays/operations.hpp"
#include "glint/error.hpp"
#include "session.hpp"

namespace glint::python {

namespace nb = nanobind;

/// Calls act(T{}) with the type of that name: "float32", "float64", "complex64", "complex128".
template <class Act>
auto with_dtype(const std::string& dtype, const Act& act) {
    if (dtype == "float32") return act(float());
    if (dtype == "float64") return act(double());
    if (dtype == "complex64") return act(std::complex<float>());
    if (dtype == "complex128") return act(std::complex<double>());
    throw OptionError("arrays of " + dtype + " are not computed with here: give float32 or float64");
}

/// Calls act(T{}) for "float32" or "float64".
template <class Act>
auto with_real(const std::string& dtype, const Act& act) {
    if (dtype == "float32") return act(float());
    if (dtype == "float64") return act(double());
    throw OptionError("arrays of " + dtype + " are not computed with here: give float32 or float64");
}

template <class T>
constexpr const char* dtype_name() {
    if constexpr (std::is_same_v<T, float>)
        return "float32";
    else if constexpr (std::is_same_v<T, double>)
        return "float64";
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return "complex64";
    else
        return "complex128";
}

/// Used with the GIL held; the elements are, and are destroyed, while no other thread uses the session.
struct OnDevice {
    using Elements = std::variant<arrays::DeviceArray<float>, arrays::DeviceArray<double>,
                                  arrays::DeviceArray<std::complex<float>>, arrays::DeviceArray<std::complex<double>>>;
    Elements elements;
    SessionHandle session;
    int ordinal = 0;                   // of the GPU
    nb::object owner;                  // of memory that belongs to another library
    std::optional<gpu::Context> kept;  // while other libraries use the memory, it outlives the session's GPU

    template <class T>
    OnDevice(const SessionHandle& of, arrays::DeviceArray<T> array)
        : elements(std::move(array)),
          session(of),
          ordinal(std::get<arrays::DeviceArray<T>>(elements).buffer.context().ordinal()) {}
    OnDevice(OnDevice&&) = default;
    OnDevice& operator=(OnDevice&&) = delete;
    ~OnDevice() { drop(); }
    void drop() {
        using Memory = std::pair<Elements, std::optional<gpu::Context>>;
        if (session) session->drop(std::make_shared<Memory>(std::exchange(elements, {}), std::exchange(kept, {})));
    }
    bool shared() const { return kept.has_value() || owner.is_valid(); }
    /// Throws if the memory was freed with its session's GPU. The caller holds the GIL.
    void require_alive() const {
        if (!kept && !session->with([](offload::Session& s) { return s.gpu_open(); }))
            throw gpu::GpuError(0, "this array was on a GPU that its session has given back: make it anew");
    }
};

/// Python arguments of an operation as operands; keeps them alive. Must be constructed and destroyed with the GIL held.
class Arguments {
  public:
    template <class T>
    arrays::Operand<const T> in(nb::handle argument) {
        if (nb::isinstance<OnDevice>(argument)) return of_device<T>(argument);
        const auto array = nb::cast<nb::ndarray<nb::ro, const T, nb::device::cpu>>(argument);
        hold_.append(nb::borrow(argument));
        return view_of<const T>(array);
    }
    template <class T>
    arrays::Operand<T> out(nb::handle argument) {
        if (argument.is_none()) return {};
        if (nb::isinstance<OnDevice>(argument)) return of_device<T>(argument);
        const auto array = nb::cast<nb::ndarray<T, nb::device::cpu>>(argument);
        hold_.append(nb::borrow(argument));
        return view_of<T>(array);
    }
    /// Whether other libraries share any of them: then the host waits until they are complete.
    bool shared() const { return shared_; }

  private:
    template <class T>
    arrays::DeviceArray<T> of_device(nb::handle argument) {
        const OnDevice& array = nb::cast<const OnDevice&>(argument);
        array.require_alive();
        const auto* elements = std::get_if<arrays::DeviceArray<T>>(&array.elements);
        if (!elements)
            throw OptionError(std::string("this operation needs a DeviceArray of ") + dtype_name<T>() + " here");
        shared_ = shared_ || array.shared();
        hold_.append(nb::borrow(argument));
        return *elements;
    }
    template <class T, class Array>
    arrays::View<T> view_of(const Array& array) {
        arrays::View<T> view;
        if (array.ndim() > std::size_t(arrays::max_dimensions))
            throw OptionError("arrays of " + std::to_string(array.ndim()) + " dimensions: at most " +
                              std::to_string(arrays::max_dimensions));
        view.data = array.data();
        view.shape.dimensions = int(array.ndim());
        for (std::size_t k = 0; k < array.ndim(); ++k)
            view.shape.extent[k] = std::int64_t(array.shape(k)), view.strides[k] = array.stride(k);
        return view;
    }

    nb::list hold_;
    bool shared_ = false;
};

}  // namespace glint::python
