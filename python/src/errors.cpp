// Translates C++ exceptions to those of glint/errors.py, with their values as attributes.
// SPDX-License-Identifier: MIT
#include "glint/error.hpp"

#include <exception>
#include <new>

#include "bindings.hpp"
#include "glint/arrays/error.hpp"
#include "glint/gpu/error.hpp"
#include "glint/gpu/lease.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

template <class... Attributes>
void raise(const char* type, const Error& error, const Attributes&... attributes) {
    try {
        nb::object raised = nb::module_::import_("glint.errors").attr(type)(in_python(error.what()));
        (nb::setattr(raised, attributes.first, nb::cast(attributes.second)), ...);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
    } catch (nb::python_error& failure) {
        failure.restore();
    }
}

/// Checks derived types first.
void translate(const std::exception_ptr& thrown, void*) {
    using std::pair;
    try {
        std::rethrow_exception(thrown);
    } catch (const gpu::LeaseTimeout& e) {
        raise("LeaseTimeout", e, pair{"code", e.code}, pair{"required_bytes", e.required_bytes},
              pair{"available_bytes", e.available_bytes});
    } catch (const gpu::OutOfMemory& e) {
        raise("OutOfMemory", e, pair{"code", e.code}, pair{"asked_bytes", e.asked_bytes},
              pair{"beyond_limit", e.beyond_limit}, pair{"free_bytes", e.free_bytes});
    } catch (const gpu::NoGpu& e) {
        raise("NoGpu", e, pair{"code", e.code});
    } catch (const gpu::DeviceLost& e) {
        raise("DeviceLost", e, pair{"code", e.code});
    } catch (const arrays::LibraryMissing& e) {
        raise("LibraryMissing", e, pair{"code", e.code});
    } catch (const gpu::GpuError& e) {
        raise("GpuError", e, pair{"code", e.code});
    } catch (const OptionError& e) {
        raise("OptionError", e);
    } catch (const InputError& e) {
        raise("InputError", e);
    } catch (const OutputError& e) {
        raise("OutputError", e);
    } catch (const Cancelled& e) {
        PyErr_SetString(PyExc_KeyboardInterrupt, e.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError,
                        "not enough memory: process less at a time (fewer threads=, frames=), or raise the limit "
                        "(ulimit -v, that of "
                        "the container or batch job)");
    } catch (const Error& e) {
        raise("Error", e);
    }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace glint::python
