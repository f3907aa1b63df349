// Arrays on a session's GPU, as Python objects and as arguments of operations.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <complex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glint/arrays/device_view.hpp"
#include "glint/arrays/operations.hpp"
#include "glint/error.hpp"
#include "glint/gpu/managed.hpp"
#include "session.hpp"

namespace glint::python {

namespace nb = nanobind;

/// Calls act(T{}) for "float32" or "float64".
template <class Act>
auto with_real(const std::string& dtype, const Act& act) {
    if (dtype == "float32") return act(float());
    if (dtype == "float64") return act(double());
    throw OptionError("arrays of " + dtype + " are not computed with here: give float32 or float64");
}

/// Calls act(T{}) for "float32", "float64" or "int64".
template <class Act>
auto with_real_or_whole(const std::string& dtype, const Act& act) {
    if (dtype == "int64") return act(std::int64_t());
    return with_real(dtype, act);
}

/// Used with the GIL held. The elements are used and destroyed only while no other thread uses the session. Several
/// objects may share the memory.
struct OnDevice {
    arrays::DeviceView elements;
    SessionHandle session;
    int ordinal = 0;                     // the GPU's
    nb::object owner;                    // if the memory belongs to another library
    std::optional<gpu::Context> kept;    // keeps the memory for other libraries after the session's GPU is closed
    std::shared_ptr<void> interprocess;  // the ExportedMemory or ImportedMemory

    OnDevice(const SessionHandle& of, arrays::DeviceView view)
        : elements(std::move(view)), session(of), ordinal(elements.memory.context().ordinal()) {}
    OnDevice(OnDevice&&) = default;
    OnDevice& operator=(OnDevice&&) = delete;
    ~OnDevice() { drop(); }
    void drop() {
        struct Memory {  // members are destroyed in reverse order
            std::optional<gpu::Context> kept;
            std::shared_ptr<void> interprocess;
            arrays::DeviceView elements;
        };
        if (session)
            session->drop(std::make_shared<Memory>(
                Memory{std::exchange(kept, {}), std::exchange(interprocess, {}), std::exchange(elements, {})}));
    }
    bool unified() const { return gpu::is_managed(elements.memory); }
    /// Returns whether the memory may have other users than the session: other libraries, other processes, or the host,
    /// which may have a view of unified memory.
    bool shared() const { return kept.has_value() || owner.is_valid() || interprocess || unified(); }
    /// Throws if the memory was freed with its session's GPU. The caller holds the GIL.
    void require_alive() const {
        if (!kept && !session->with([](offload::Session& s) { return s.gpu_open(); }))
            throw gpu::GpuError(0, "this array was on a GPU that its session has given back: create it again");
    }
    /// Returns the bytes of a contiguous array.
    gpu::Buffer<std::byte> bytes() const {
        if (!elements.is_contiguous()) throw OptionError("an array with gaps where one in C order is needed");
        const std::int64_t each = arrays::num_bytes(elements.type);
        return elements.memory.view(std::size_t(elements.first * each), std::size_t(elements.count() * each));
    }
};

arrays::Shape shape_of(const std::vector<std::int64_t>& extents);

/// Throws GpuError, with remedies for Python, if the session's GPU cannot access the memory of an array on another GPU.
void require_reach(offload::Session& session, const arrays::DeviceView& view);

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
    /// Returns the view of an array on any GPU.
    const arrays::DeviceView& view(nb::handle argument) {
        const OnDevice& array = nb::cast<const OnDevice&>(argument);
        array.require_alive();
        shared_ = shared_ || array.shared();
        hold_.append(nb::borrow(argument));
        views_.push_back(&array.elements);
        return array.elements;
    }
    /// Throws GpuError if the session's GPU cannot access the memory of an operand.
    void require_reached(offload::Session& session) const {
        for (const arrays::DeviceView* view : views_) require_reach(session, *view);
    }
    /// Returns whether another library shares an operand: then the host waits until the operands are complete.
    bool shared() const { return shared_; }

  private:
    template <class T>
    arrays::DeviceArray<T> of_device(nb::handle argument) {
        const arrays::DeviceView& elements = view(argument);
        if (elements.type != arrays::type_of<T>)
            throw OptionError(std::string("this operation needs a DeviceArray of ") +
                              arrays::to_name(arrays::type_of<T>) + " here");
        return {nb::cast<const OnDevice&>(argument).bytes().template as<T>(), shape_of(elements.shape)};
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
    std::vector<const arrays::DeviceView*> views_;
    bool shared_ = false;
};

/// Calls act(session); waits for completion if other libraries share the operands.
template <class Act>
void run(const SessionHandle& handle, const Arguments& arguments, const Act& act) {
    handle->with([&, shared = arguments.shared()](offload::Session& session) {
        arguments.require_reached(session);
        act(session);
        if (shared) session.synchronize();
    });
}

}  // namespace glint::python
