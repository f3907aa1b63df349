// std::string to and from Python's str, also where the bytes are no UTF-8, as those of a file's name may be.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace nanobind::detail {

/// In place of <nanobind/stl/string.h>, whose texts are UTF-8 or an error. From Python the bytes of os.fsencode(); to Python text for a person,
/// with replacement characters, as in errors. Names that are opened again are std::filesystem::path.
template <>
struct type_caster<std::string> {
    NB_TYPE_CASTER(std::string, const_name("str"))

    bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
        if (!PyUnicode_Check(from.ptr())) return false;
        const object bytes = steal(PyUnicode_AsEncodedString(from.ptr(), "utf-8", "surrogateescape"));
        if (!bytes.is_valid()) {
            PyErr_Clear();
            return false;
        }
        value = std::string(PyBytes_AS_STRING(bytes.ptr()), std::size_t(PyBytes_GET_SIZE(bytes.ptr())));
        return true;
    }
    static handle from_cpp(const std::string& from, rv_policy, cleanup_list*) noexcept {
        return PyUnicode_DecodeUTF8(from.data(), Py_ssize_t(from.size()), "replace");
    }
};

}  // namespace nanobind::detail
