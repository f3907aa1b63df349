// A read-only HDF5 file driver.
// SPDX-License-Identifier: MIT
#include "io/hdf5/guards.hpp"

#include <algorithm>
#include <cstring>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/file_driver.hpp"

namespace glint::hdf5 {
namespace {

using Open = OpenFile<InputFile>;

// No exception may pass through HDF5: each becomes a null pointer or -1, which the caller reports.
H5FD_t* open(const char* name, unsigned flags, hid_t, haddr_t) {
    if (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) return nullptr;
    try {
        return new Open{{}, InputFile(name)};
    } catch (const std::exception&) {
        return nullptr;
    }
}

// Returns true for a heap of names whose header claims more bytes than the file has. HDF5 1.10 copies them unchecked.
bool is_damaged_heap(const std::byte* bytes, size_t size, std::uint64_t file_bytes) {
    if (size < 32 || std::memcmp(bytes, "HEAP", 4) != 0) return false;
    std::byte claim[8];
    std::copy_n(bytes + 8, sizeof claim, claim);
    if (!host_is_little_endian) swap_64_bit(claim, 1);
    std::uint64_t claimed_bytes = 0;
    std::memcpy(&claimed_bytes, claim, sizeof claimed_bytes);
    return claimed_bytes > file_bytes;
}

herr_t read(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t size, void* buffer) {
    const InputFile& input = Open::of(file).file;
    if (address > input.size() || size > input.size() - address) return -1;
    const auto bytes = static_cast<std::byte*>(buffer);
    try {
        if (input.read_at(address, bytes, size) != size) return -1;
    } catch (const Error&) {
        return -1;
    }
    return kind == H5FD_MEM_LHEAP && is_damaged_heap(bytes, size, input.size()) ? -1 : 0;
}

// Small reads of raw data may be joined; metadata are not cached beside the ordinary cache.
herr_t query(const H5FD_t*, unsigned long* flags) {
    if (flags) *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

herr_t no_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

H5FD_class_t driver() {
    H5FD_class_t driver = file_driver<InputFile>("glint_reading", 511);
    driver.open = open;
    driver.query = query;
    driver.read = read;
    driver.write = no_write;
    for (auto& kind : driver.fl_map) kind = H5FD_MEM_SUPER;
    return driver;
}

}  // namespace

Handle reading_access() {
    static const H5FD_class_t reading_driver = driver();
    static const hid_t driver_id = H5FDregister(&reading_driver);
    Handle access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_driver(access, driver_id, nullptr);
    return access;
}

}  // namespace glint::hdf5
