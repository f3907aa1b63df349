// Bindings of arrays on a GPU: creation, views, copies, exchange with other libraries through DLPack.
// SPDX-License-Identifier: MIT
#include "device_array.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <limits>

#include "bindings.hpp"
#include "glint/gpu/ipc.hpp"
#include "glint/gpu/managed.hpp"
#include "gpu/foreign.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using arrays::DeviceView;
using arrays::Type;
using offload::Session;
using Extents = std::vector<std::int64_t>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadBytes = nb::ndarray<nb::ro, const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

OnDevice empty(const SessionHandle& handle, const std::string& dtype, const Extents& shape,
               std::optional<bool> unified) {
    const Type type = arrays::type_named(dtype.c_str());
    return OnDevice(handle, handle->with([&](Session& session) {
        return arrays::empty_view(session, type, shape, unified.value_or(session.unified()));
    }));
}

OnDevice to_device(const SessionHandle& handle, const std::string& dtype, const Extents& shape, const ReadBytes& from,
                   std::optional<bool> unified) {
    const Type type = arrays::type_named(dtype.c_str());
    return OnDevice(handle, handle->with([&](Session& session) {
        DeviceView view = arrays::empty_view(session, type, shape, unified.value_or(session.unified()));
        if (view.memory.bytes() != from.size()) throw OptionError("bytes of another number than the array's");
        session.note_copy(from.size(), 0);
        if (from.size() > 0)
            gpu::upload(session.stream(), view.memory, {reinterpret_cast<const std::byte*>(from.data()), from.size()});
        return view;
    }));
}

void to_host(OnDevice& array, const Bytes& to) {
    array.require_alive();
    const gpu::Buffer<std::byte> bytes = array.bytes();
    if (bytes.bytes() != to.size()) throw OptionError("bytes of another number than the array's");
    if (to.size() == 0) return;
    array.session->with([&](Session& session) {
        session.note_copy(0, to.size());
        gpu::download(session.stream(), {reinterpret_cast<std::byte*>(to.data()), to.size()}, bytes);
        session.stream().synchronize();
    });
}

/// Overwrites a contiguous array from the host. Allocates nothing.
void from_host(OnDevice& array, const ReadBytes& from) {
    array.require_alive();
    gpu::Buffer<std::byte> bytes = array.bytes();
    if (bytes.bytes() != from.size()) throw OptionError("bytes of another number than the array's");
    if (from.size() == 0) return;
    array.session->with([&, shared = array.shared()](Session& session) {
        session.note_copy(from.size(), 0);
        gpu::upload(session.stream(), bytes, {reinterpret_cast<const std::byte*>(from.data()), from.size()});
        if (shared) session.synchronize();
    });
}

/// Returns another array over the same memory.
OnDevice view(OnDevice& array, const std::string& dtype, const Extents& shape, const Extents& strides,
              std::int64_t first) {
    array.require_alive();
    DeviceView elements{array.elements.memory, arrays::type_named(dtype.c_str()), shape, strides, first};
    elements.require_inside();
    OnDevice other(array.session, std::move(elements));
    other.owner = array.owner, other.interprocess = array.interprocess;
    return other;
}

void copy(const SessionHandle& handle, nb::handle from, nb::handle to) {
    Arguments arguments;
    const DeviceView &read = arguments.view(from), &written = arguments.view(to);
    run(handle, arguments, [&](Session& session) { arrays::copy_on_device(session, read, written); });
}

void take(const SessionHandle& handle, nb::handle from, int axis, nb::handle at, nb::handle to) {
    Arguments arguments;
    const DeviceView &read = arguments.view(from), &positions = arguments.view(at), &written = arguments.view(to);
    run(handle, arguments, [&](Session& session) { arrays::take_on_device(session, read, axis, positions, written); });
}

/// Calls act(session) while no other thread uses either session. Two threads that copy between the same two sessions
/// lock them in the same order.
template <class Act>
auto with_both(SharedSession& one, SharedSession& other, const Act& act) {
    SharedSession& first = &one < &other ? one : other;
    SharedSession& second = &one < &other ? other : one;
    return first.with(
        [&](Session& x) { return second.locked([&](Session& y) { return act(&first == &one ? x : y); }); });
}

/// Copies from an array on any GPU. Both must be contiguous.
void copy_from(OnDevice& to, OnDevice& from) {
    to.require_alive(), from.require_alive();
    gpu::Buffer<std::byte> target = to.bytes();
    const gpu::Buffer<std::byte> source = from.bytes();
    if (target.bytes() != source.bytes()) throw OptionError("bytes of another number than the array's");
    if (source.size() == 0) return;
    with_both(*to.session, *from.session, [&](Session& session) {
        gpu::copy(session.stream(), target, source);
        session.synchronize();
    });
}

/// Returns the address of the first element, after waiting for all work on the memory. From then on, the memory stays
/// valid as long as this object.
std::uint64_t lend(OnDevice& array) {
    array.require_alive();
    const bool keep = !array.owner.is_valid() && !array.kept;
    auto [address, context] = array.session->with([&](Session& session) {
        const std::uint64_t there = array.elements.memory.read_on(session.stream());  // throws if its GPU was closed
        session.synchronize();
        return std::pair(there, keep ? std::optional(session.context()) : std::nullopt);
    });
    if (keep) array.kept = std::move(context);
    return address + std::uint64_t(array.elements.first * arrays::num_bytes(array.elements.type));
}

DeviceView whole(gpu::Buffer<std::byte> memory, Type type, const Extents& shape) {
    DeviceView view{.memory = std::move(memory), .type = type, .shape = shape, .strides = Extents(shape.size())};
    std::int64_t apart = 1;
    for (std::size_t k = shape.size(); k-- > 0; apart *= shape[k]) view.strides[k] = apart;
    view.require_inside();
    return view;
}

std::size_t bytes_of_array(Type type, const Extents& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return std::size_t(count * arrays::num_bytes(type));
}

/// Returns an uninitialised array that other processes may open, and its handle.
nb::tuple export_array(const SessionHandle& handle, const std::string& dtype, const Extents& shape) {
    const Type type = arrays::type_named(dtype.c_str());
    std::shared_ptr<gpu::ExportedMemory> exported;
    OnDevice array(handle, handle->with([&](Session& session) {
        exported = std::make_shared<gpu::ExportedMemory>(session.stream(), bytes_of_array(type, shape));
        return whole(exported->buffer(), type, shape);
    }));
    const std::array<unsigned char, 64> name = exported->handle().bytes;
    array.interprocess = std::move(exported);
    return nb::make_tuple(nb::cast(std::move(array)), nb::bytes(name.data(), name.size()));
}

/// Returns the array of another process.
OnDevice import_array(const SessionHandle& handle, const std::string& dtype, const Extents& shape,
                      const nb::bytes& name) {
    const Type type = arrays::type_named(dtype.c_str());
    gpu::IpcHandle opaque;
    if (name.size() != opaque.bytes.size())
        throw OptionError("a handle of " + std::to_string(name.size()) + " bytes: 64 are expected");
    std::memcpy(opaque.bytes.data(), name.c_str(), name.size());
    std::shared_ptr<gpu::ImportedMemory> imported;
    OnDevice array(handle, handle->with([&](Session& session) {
        imported = std::make_shared<gpu::ImportedMemory>(session.stream(), opaque, bytes_of_array(type, shape));
        return whole(imported->buffer(), type, shape);
    }));
    array.interprocess = std::move(imported);
    return array;
}

nb::dlpack::dtype dlpack_type(Type type) {
    using Code = nb::dlpack::dtype_code;
    const Code code = type == Type::boolean   ? Code::Bool
                      : type <= Type::int64   ? Code::Int
                      : type <= Type::uint64  ? Code::UInt
                      : type <= Type::float64 ? Code::Float
                                              : Code::Complex;
    return {std::uint8_t(code), std::uint8_t(8 * arrays::num_bytes(type)), 1};
}

/// Returns a view of the elements for the host, after waiting for all work on the memory, which must be unified. From
/// then on, the memory stays valid as long as this object.
nb::object host_view(nb::handle self) {
    OnDevice& array = nb::cast<OnDevice&>(self);
    array.require_alive();
    const DeviceView& view = array.elements;
    if (!array.unified())
        throw OptionError(
            "this array is of device memory, which the host cannot read: to_numpy() copies it, and "
            "to_device(..., unified=True) makes arrays that both sides use");
    const bool keep = !array.kept;
    auto [address, context] = array.session->with([&](Session& session) {
        std::byte* const first = view.count() > 0 ? gpu::host_elements(view.memory) : nullptr;
        return std::pair(first, keep ? std::optional(session.context()) : std::nullopt);
    });
    if (keep) array.kept = std::move(context);
    const std::vector<std::size_t> shape(view.shape.begin(), view.shape.end());
    return nb::cast(nb::ndarray<nb::numpy>(address + view.first * arrays::num_bytes(view.type), shape.size(),
                                           shape.data(), nb::borrow(self), view.strides.data(),
                                           dlpack_type(view.type)));
}

/// Waits for all work on unified memory if the host has a view of it already. Fast if it has none.
void wait_on_host(OnDevice& array) {
    if (!gpu::detail::busy(array.elements.memory.allocation()).load(std::memory_order_acquire)) return;
    array.session->with([&](Session&) { gpu::host_elements(array.elements.memory); });
}

/// Exports the array by DLPack: an object with __dlpack__().
nb::object dlpack_view(nb::handle self) {
    OnDevice& array = nb::cast<OnDevice&>(self);
    void* address = reinterpret_cast<void*>(lend(array));
    const DeviceView& view = array.elements;
    const std::vector<std::size_t> shape(view.shape.begin(), view.shape.end());
    return nb::cast(nb::ndarray<nb::array_api>(address, shape.size(), shape.data(), nb::borrow(self),
                                               view.is_contiguous() ? nullptr : view.strides.data(),
                                               dlpack_type(view.type), nb::device::cuda::value, array.ordinal));
}

/// Imports another library's memory without a copy. `capsule`: from DLPack. The producer has ordered the default stream
/// after its work.
OnDevice adopt(const SessionHandle& handle, const std::string& dtype, nb::handle capsule, nb::object owner) {
    const Type type = arrays::type_named(dtype.c_str());
    const auto array = nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cuda>>(capsule);
    if (array.itemsize() != std::size_t(arrays::num_bytes(type)))
        throw OptionError("an array of " + dtype + " with elements of " + std::to_string(array.itemsize()) + " bytes");
    DeviceView view{.type = type, .shape = Extents(array.ndim()), .strides = Extents(array.ndim())};
    std::int64_t apart = 1;
    for (std::size_t k = array.ndim(); k-- > 0; apart *= view.shape[k])
        view.shape[k] = std::int64_t(array.shape(k)), view.strides[k] = apart;
    const auto address = reinterpret_cast<std::uint64_t>(array.data());
    OnDevice adopted(handle, handle->with([&](Session& session) {
        if (session.context().ordinal() != array.device_id())
            throw OptionError("this array is on GPU " + std::to_string(array.device_id()) +
                              ", and the session's is GPU " + std::to_string(session.context().ordinal()));
        gpu::wait_for_default_stream(array.device_id());
        view.memory = gpu::Buffer<std::byte>::adopt(session.stream(), address, array.nbytes(), false);
        view.require_inside();
        return view;
    }));
    adopted.owner = nb::make_tuple(nb::borrow(capsule), std::move(owner));
    return adopted;
}

nb::tuple as_tuple(const Extents& extents) {
    nb::list all;
    for (const std::int64_t extent : extents) all.append(extent);
    return nb::tuple(all);
}

// For Python's garbage collector: the array's owner in another library may refer to the array.
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

arrays::Shape shape_of(const Extents& extents) {
    if (extents.size() > std::size_t(arrays::max_dimensions))
        throw OptionError("arrays of " + std::to_string(extents.size()) + " dimensions: at most " +
                          std::to_string(arrays::max_dimensions));
    arrays::Shape shape;
    for (const std::int64_t extent : extents) shape.extent[shape.dimensions++] = extent;
    return shape;
}

void require_reach(Session& session, const DeviceView& view) {
    const gpu::Context& home = view.memory.context();
    if (!session.gpu_open() || gpu::is_managed(view.memory) || session.context().ordinal() == home.ordinal()) return;
    try {
        view.memory.read_on(session.stream());
    } catch (const gpu::GpuError& error) {
        constexpr int peer_access_unsupported = 217;
        if (error.code != peer_access_unsupported) throw;
        const std::string there = std::to_string(home.ordinal()), here = std::to_string(session.context().ordinal());
        throw gpu::GpuError(
            error.code, "this array is in the memory of GPU " + there + " (" + home.name() + "), and GPU " + here +
                            " (" + session.context().name() +
                            "), where the operation runs, has no peer access to it: run the operation on GPU " + there +
                            ", in `with glint.offload.on_device(" + there + "):`, or copy the array to GPU " + here +
                            " first, by its copy() in `with glint.offload.on_device(" + here +
                            "):`, or by glint.gpu.copy(to, array) into an array of GPU " + here);
    }
}

void bind_device_arrays(nb::module_& m) {
    nb::class_<OnDevice>(m, "DeviceArray", nb::type_slots(collected))
        .def_prop_ro("shape", [](const OnDevice& array) { return as_tuple(array.elements.shape); })
        .def_prop_ro("strides", [](const OnDevice& array) { return as_tuple(array.elements.strides); })
        .def_prop_ro("first", [](const OnDevice& array) { return array.elements.first; })
        .def_prop_ro("dtype", [](const OnDevice& array) { return std::string(arrays::to_name(array.elements.type)); })
        .def_prop_ro("contiguous", [](const OnDevice& array) { return array.elements.is_contiguous(); })
        .def_ro("ordinal", &OnDevice::ordinal)
        .def_ro("session", &OnDevice::session)
        .def_prop_ro("adopted", [](const OnDevice& array) { return array.owner.is_valid(); })
        .def_prop_ro("unified", &OnDevice::unified)
        .def("host_view", &host_view)
        .def("wait_on_host", &wait_on_host)
        .def("copy_from", &copy_from, "source"_a)
        .def("shares_memory",
             [](const OnDevice& array, const OnDevice& other) {
                 return &array.elements.memory.allocation() == &other.elements.memory.allocation();
             })
        .def("address", &lend)
        .def("dlpack_view", &dlpack_view)
        .def("view", &view, "dtype"_a, "shape"_a, "strides"_a, "first"_a)
        .def("to_host", &to_host, "out"_a)
        .def("from_host", &from_host, "elements"_a);
    m.def("device_empty", &empty, "session"_a, "dtype"_a, "shape"_a, "unified"_a = nb::none());
    m.def("device_copy", &copy, "session"_a, "source"_a, "to"_a);
    m.def("device_take", &take, "session"_a, "source"_a, "axis"_a, "at"_a, "to"_a);
    m.def("to_device", &to_device, "session"_a, "dtype"_a, "shape"_a, "elements"_a, "unified"_a = nb::none());
    m.def("export_array", &export_array, "session"_a, "dtype"_a, "shape"_a);
    m.def("import_array", &import_array, "session"_a, "dtype"_a, "shape"_a, "handle"_a);
    m.def("adopt", &adopt, "session"_a, "dtype"_a, "capsule"_a, "owner"_a);
}

}  // namespace glint::python
