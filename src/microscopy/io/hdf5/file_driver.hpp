// Common to glint's two HDF5 file drivers: the reading one (reading.cpp) and the writing one (writing.cpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "io/hdf5/file.hpp"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // declares drivers from HDF5 1.14 on
#endif

namespace glint::hdf5 {

/// A file that HDF5 has open, by a pointer to the base.
template <class File>
struct OpenFile : H5FD_t {
    File file;
    haddr_t end_of_allocation = 0;  ///< set by HDF5, which reads nothing beyond

    static OpenFile& of(H5FD_t* base) { return *static_cast<OpenFile*>(base); }
    static const OpenFile& of(const H5FD_t* base) { return *static_cast<const OpenFile*>(base); }
};

/// Returns a driver without `open`, `query`, `read`, `write` and the kinds of memory, which the caller adds. `number`:
/// from the range for testing. Members are assigned by name, because their order differs between HDF5's versions.
template <class File>
H5FD_class_t file_driver(const char* name, [[maybe_unused]] int number) {
    using Open = OpenFile<File>;
    H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
    driver.version = H5FD_CLASS_VERSION;
    driver.value = H5FD_class_value_t(number);
#endif
    driver.name = name;
    driver.maxaddr = ~haddr_t(0) >> 1;
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.close = [](H5FD_t* base) -> herr_t {
        delete &Open::of(base);
        return 0;
    };
    driver.get_eoa = [](const H5FD_t* base, H5FD_mem_t) { return Open::of(base).end_of_allocation; };
    driver.set_eoa = [](H5FD_t* base, H5FD_mem_t, haddr_t address) -> herr_t {
        Open::of(base).end_of_allocation = address;
        return 0;
    };
    driver.get_eof = [](const H5FD_t* base, H5FD_mem_t) -> haddr_t { return Open::of(base).file.size(); };
    return driver;
}

}  // namespace glint::hdf5
