// Bindings of arrays on a GPU: creation, copies, exchange with other libraries by DLPack.
// SPDX-License-Identifier: MIT
#include "device_array.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "gpu/foreign.hpp"
#include "works.hpp"

namespace glint::python {
namespace {

using offload::Session;

OnDevice empty(const SessionHandle& handle, const std::string& dtype, const std::vector<std::int64_t>& extents) {
    return with_dtype(dtype, [&]<class T>(T) {
        return OnDevice(handle, handle->with([&](Session& session) {
            return arrays::empty_on_device<T>(session, shape_of(extents));
        }));
    });
}

OnDevice to_device(const SessionHandle& handle, const std::string& dtype, nb::handle from) {
    return with_dtype(dtype, [&]<class T>(T) {
        Arguments arguments;
        const arrays::Operand<const T> operand = arguments.in<T>(from);
        return OnDevice(handle,
                        handle->with([&](Session& session) { return arrays::to_device<T>(session, operand.view()); }));
    });
}

void to_host(OnDevice& array, nb::handle to) {
    array.require_alive();
    std::visit(
        [&]<class T>(const arrays::DeviceArray<T>& elements) {
            Arguments arguments;
            const arrays::Operand<T> out = arguments.out<T>(to);
            array.session->with([&](Session& session) { arrays::to_host<T>(session, elements, out.view()); });
        },
        array.elements);
}

/// The device address, after waiting for all work on the memory; the memory then stays valid as long as this object.
std::uint64_t lend(OnDevice& array) {
    array.require_alive();
    const bool keep = !array.owner.is_valid() && !array.kept;
    return std::visit(
        [&]<class T>(const arrays::DeviceArray<T>& elements) {
            auto [address, context] = array.session->with([&](Session& session) {
                const std::uint64_t there = elements.buffer.read_on(session.stream());  // throws if its GPU was closed
                session.synchronize();
                return std::pair(there, keep ? std::optional(session.context()) : std::nullopt);
            });
            if (keep) array.kept = std::move(context);
            return address;
        },
        array.elements);
}

/// Exports the array by DLPack: an object with __dlpack__().
nb::object dlpack_view(nb::handle self) {
    OnDevice& array = nb::cast<OnDevice&>(self);
    void* address = reinterpret_cast<void*>(lend(array));
    return std::visit(
        [&]<class T>(const arrays::DeviceArray<T>& elements) -> nb::object {
            std::vector<std::size_t> extents(elements.shape.extent.begin(),
                                             elements.shape.extent.begin() + elements.shape.dimensions);
            return nb::cast(nb::ndarray<nb::array_api, T>(address, extents.size(), extents.data(), nb::borrow(self),
                                                          nullptr, nb::dtype<T>(), nb::device::cuda::value,
                                                          array.ordinal));
        },
        array.elements);
}

/// Imports another library's memory without a copy. `capsule`: from DLPack; the producer has ordered the default stream
/// behind its work.
OnDevice adopt(const SessionHandle& handle, const std::string& dtype, nb::handle capsule, nb::object owner) {
    return with_dtype(dtype, [&]<class T>(T) {
        const auto array = nb::cast<nb::ndarray<nb::ro, const T, nb::c_contig, nb::device::cuda>>(capsule);
        std::vector<std::int64_t> extents;
        for (std::size_t k = 0; k < array.ndim(); ++k) extents.push_back(std::int64_t(array.shape(k)));
        const arrays::Shape shape = shape_of(extents);
        const auto address = reinterpret_cast<std::uint64_t>(array.data());
        OnDevice adopted(handle, handle->with([&](Session& session) {
            if (session.context().ordinal() != array.device_id())
                throw OptionError("this array is on GPU " + std::to_string(array.device_id()) +
                                  ", and the session's is GPU " + std::to_string(session.context().ordinal()));
            gpu::wait_for_default_stream(array.device_id());
            return arrays::DeviceArray<T>{
                gpu::Buffer<T>::adopt(session.stream(), address, std::size_t(shape.count()), false), shape};
        }));
        adopted.owner = nb::make_tuple(nb::borrow(capsule), std::move(owner));
        return adopted;
    });
}

nb::tuple shape_of_array(const OnDevice& array) {
    nb::list extents;
    std::visit(
        [&](const auto& elements) {
            for (int k = 0; k < elements.shape.dimensions; ++k) extents.append(elements.shape[k]);
        },
        array.elements);
    return nb::tuple(extents);
}

// For Python's garbage collector: what the array was adopted from may refer to the array.
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<OnDevice>(self)->owner.ptr());
    return 0;
}

int clear(PyObject* self) {
    OnDevice& array = *nb::inst_ptr<OnDevice>(self);
    array.drop();
    nb::object(std::move(array.owner)).reset();
    return 0;
}

PyType_Slot collected[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&clear)}, {0, nullptr}};

}  // namespace

void bind_device_arrays(nb::module_& m) {
    nb::class_<OnDevice>(m, "DeviceArray", nb::type_slots(collected))
        .def_prop_ro("shape", &shape_of_array)
        .def_prop_ro("dtype",
                     [](const OnDevice& array) {
                         return std::visit(
                             []<class T>(const arrays::DeviceArray<T>&) { return std::string(dtype_name<T>()); },
                             array.elements);
                     })
        .def_ro("ordinal", &OnDevice::ordinal)
        .def_ro("session", &OnDevice::session)
        .def_prop_ro("adopted", [](const OnDevice& array) { return array.owner.is_valid(); })
        .def("address", &lend)
        .def("dlpack_view", &dlpack_view)
        .def("to_host", &to_host, "out"_a);
    m.def("device_empty", &empty, "session"_a, "dtype"_a, "shape"_a);
    m.def("to_device", &to_device, "session"_a, "dtype"_a, "array"_a);
    m.def("adopt", &adopt, "session"_a, "dtype"_a, "capsule"_a, "owner"_a);
}

}  // namespace glint::python
