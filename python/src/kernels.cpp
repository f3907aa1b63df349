// Bindings of user-defined kernels; glint/offload/kernels.py prepares the arguments.
// SPDX-License-Identifier: MIT
#include "glint/arrays/kernel.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "device_array.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using arrays::KernelArgument;
using arrays::KernelSource;
using offload::Session;

/// Returns the argument for a DeviceArray, or for the bytes of a number.
KernelArgument argument_of(nb::handle argument) {
    if (nb::isinstance<OnDevice>(argument)) {
        const OnDevice& array = nb::cast<const OnDevice&>(argument);
        array.require_alive();
        const gpu::Buffer<std::byte> bytes = array.bytes();
        return arrays::DeviceArray<std::byte>{bytes, {std::int64_t(bytes.size())}};
    }
    const auto number = nb::cast<nb::bytes>(argument);
    const auto* begin = reinterpret_cast<const std::byte*>(number.c_str());
    return KernelArgument(std::vector<std::byte>(begin, begin + number.size()));
}

void launch(const SessionHandle& handle, const KernelSource& kernel, unsigned blocks, unsigned threads,
            unsigned shared_bytes, nb::sequence given) {
    std::vector<KernelArgument> arguments;
    std::vector<const arrays::DeviceView*> views;
    bool shared = false;
    for (nb::handle argument : given) {
        arguments.push_back(argument_of(argument));
        if (!nb::isinstance<OnDevice>(argument)) continue;
        const OnDevice& array = nb::cast<const OnDevice&>(argument);
        views.push_back(&array.elements);
        shared = shared || array.shared();
    }
    handle->with([&](Session& session) {
        for (const arrays::DeviceView* view : views) require_reach(session, *view);
        arrays::launch(session, kernel, blocks, threads, std::move(arguments),
                       shared_bytes);  // destroys the arguments, too
        if (shared) session.synchronize();
    });
}

}  // namespace

void bind_kernels(nb::module_& m) {
    nb::class_<KernelSource>(m, "KernelSource")
        .def(nb::new_([](const std::string& source, const std::string& name, const std::vector<std::string>& options) {
                 return KernelSource{source, name, options};
             }),
             "source"_a, "name"_a, "options"_a);
    m.def("launch", &launch, "session"_a, "kernel"_a, "blocks"_a, "threads"_a, "shared_bytes"_a, "arguments"_a);
    m.def(
        "parameter_bytes",
        [](const SessionHandle& handle, const KernelSource& kernel) {
            return handle->with([&](Session& session) { return arrays::parameter_bytes(session, kernel); });
        },
        "session"_a, "kernel"_a);
    m.def(
        "compile",
        [](const KernelSource& kernel, int capability) {
            std::vector<unsigned char> code;
            {
                const nb::gil_scoped_release release;
                code = arrays::compile(kernel, capability);
            }
            return nb::bytes(code.data(), code.size());
        },
        "kernel"_a, "capability"_a);
}

}  // namespace glint::python
