// Converts std::string to and from Python's str, even if the bytes are not UTF-8, as in names of files.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace nanobind::detail {

/// Replaces <nanobind/stl/string.h>, for which texts that are not UTF-8 are an error. From Python: the bytes of
/// os.fsencode(). To Python: text to read, as in errors, with replacement characters. Names of files to open are
/// std::filesystem::path.
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
