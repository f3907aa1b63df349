// An HDF5 file driver that passes everything to an AtomicFile; datasets without times.
// SPDX-License-Identifier: MIT
#include "io/hdf5/writing.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "io/hdf5/file_driver.hpp"

namespace glint::hdf5 {
namespace {

namespace fs = std::filesystem;

using Open = OpenFile<AtomicFile&>;

/// The target that the file access property list passes to `open`.
struct Target {
    AtomicFile* file;
};

H5FD_t* open(const char*, unsigned flags, hid_t access, haddr_t) {
    const auto target = static_cast<const Target*>(H5Pget_driver_info(access));
    if (!target || !(flags & H5F_ACC_CREAT)) return nullptr;
    return new (std::nothrow) Open{{}, *target->file};
}

// The same flags as HDF5's own driver for ordinary files, for the same layout of the file.
herr_t query(const H5FD_t*, unsigned long* flags) {
    if (flags)
        *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
                 H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

// Bytes beyond the end and unreadable bytes are zeros; the AtomicFile remembers a failure.
herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
    const std::size_t got = Open::of(file).file.read_at(address, buffer, size);
    std::memset(static_cast<char*>(buffer) + got, 0, size - got);
    return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* buffer) {
    Open::of(file).file.write_at(address, buffer, size);
    return 0;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
    Open::of(file).file.resize(Open::of(file).end_of_allocation);
    return 0;
}

H5FD_class_t driver() {
    H5FD_class_t driver = file_driver<AtomicFile&>("glint_writing", 510);
    driver.fapl_size = sizeof(Target);
    driver.open = open;
    driver.query = query;
    driver.read = read;
    driver.write = write;
    driver.truncate = truncate;
    const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), driver.fl_map);
    return driver;
}

}  // namespace

Handle create_file(AtomicFile& to, std::size_t user_block) {
    const Quiet quiet;
    static const H5FD_class_t writing_driver = driver();
    static const hid_t driver_id = H5FDregister(&writing_driver);
    const Handle access(H5Pcreate(H5P_FILE_ACCESS)), creation(H5Pcreate(H5P_FILE_CREATE));
    const Target target{&to};
    Handle file;
    if (H5Pset_driver(access, driver_id, &target) >= 0 && H5Pset_userblock(creation, user_block) >= 0)
        file = Handle(H5Fcreate(to.target().c_str(), H5F_ACC_TRUNC, creation, access));
    to.check();
    if (!file.valid()) throw_output_error(to.target(), 0);
    return file;
}

Handle create_dataset(hid_t place, const char* name, hid_t type, std::span<const hsize_t> shape,
                      const fs::path& target) {
    const Quiet quiet;
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(properties, false);
    H5Pset_layout(properties, H5D_CONTIGUOUS);
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);  // every row is written once, by glint
    const Handle space(shape.empty() ? H5Screate(H5S_SCALAR)
                                     : H5Screate_simple(int(shape.size()), shape.data(), nullptr));
    Handle dataset(H5Dcreate2(place, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    if (!dataset.valid()) throw_output_error(target, 0);
    return dataset;
}

void write_rows(hid_t dataset, hid_t memory_type, hsize_t first, hsize_t count, const void* values,
                const fs::path& target) {
    if (count == 0) return;
    const Quiet quiet;
    const Handle memory(H5Screate_simple(1, &count, nullptr)), file(H5Dget_space(dataset));
    if (H5Sselect_hyperslab(file, H5S_SELECT_SET, &first, nullptr, &count, nullptr) < 0 ||
        H5Dwrite(dataset, memory_type, memory, file, H5P_DEFAULT, values) < 0)
        throw_output_error(target, 0);
}

void write_values(hid_t place, const char* name, hid_t type, std::span<const hsize_t> shape, const void* values,
                  const fs::path& target) {
    const Quiet quiet;
    Handle dataset = create_dataset(place, name, type, shape, target);
    for (hsize_t extent : shape)
        if (extent == 0) return;
    if (H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 || !dataset.close())
        throw_output_error(target, 0);
}

Handle create_group(hid_t place, const char* name, const fs::path& target) {
    const Quiet quiet;
    Handle group(H5Gcreate2(place, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (!group.valid()) throw_output_error(target, 0);
    return group;
}

void write_attribute(hid_t object, const char* name, hid_t type, const void* value, const fs::path& target) {
    const Quiet quiet;
    const Handle space(H5Screate(H5S_SCALAR));
    Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (!attribute.valid() || H5Awrite(attribute, type, value) < 0 || !attribute.close()) throw_output_error(target, 0);
}

void write_attribute(hid_t object, const char* name, double value, const fs::path& target) {
    write_attribute(object, name, H5T_NATIVE_DOUBLE, &value, target);
}

void write_attribute(hid_t object, const char* name, const std::string& text, const fs::path& target) {
    // HDF5's messages, of which an attribute is one, have less than 64 KiB.
    std::size_t bytes = std::min<std::size_t>(text.size(), 60000);
    while (bytes < text.size() && bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
    const std::string cut = text.substr(0, bytes);
    const Handle type(H5Tcopy(H5T_C_S1));
    if (H5Tset_size(type, cut.size() + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0) throw_output_error(target, 0);
    write_attribute(object, name, type, cut.c_str(), target);
}

void write_string(hid_t place, const char* name, const std::string& text, const fs::path& target) {
    const Handle type(H5Tcopy(H5T_C_S1));
    if (H5Tset_size(type, text.size() + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0) throw_output_error(target, 0);
    write_values(place, name, type, {}, text.c_str(), target);
}

}  // namespace glint::hdf5
