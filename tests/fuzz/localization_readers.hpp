// Inputs of the fuzzers of localization and camera files.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "glint/camera_io.hpp"
#include "glint/localization_io.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/fuzz/readers.hpp"

namespace glint::fuzz {

/// Checks that a table that was read is consistent and can be written and read again.
inline void read_table(const std::filesystem::path& path, double pixel_size_nm) {
    try {
        const Localizations table = read_localizations(path, {}, pixel_size_nm);
        for (float x : table.x_px)
            if (!std::isfinite(x)) std::abort();
        if (table.x_px.size() != table.size() || table.y_px.size() != table.size() || table.width < 1) std::abort();
        if (!is_to_be_copied()) return;
        const auto copy = scratch_folder() / "copy.hdf5";
        write_localizations(copy, table);
        if (read_localizations(copy).size() != table.size()) std::abort();
    } catch (const Error&) {
    }
}

inline void csv(Bytes bytes) { read_table(written(bytes, "locs.csv"), 100); }

/// Reads a Picasso file with any columns. The bytes are `.yaml`, `/metadata` and the table, separated by zero bytes.
/// The table is a count of columns, two bytes for each (name, type), then the rows' bytes.
inline void picasso(Bytes bytes) {
    const hdf5::Quiet quiet;
    static const char* const names[] = {"frame",      "x",      "y",    "photons",        "lpx", "z",   "likelihood",
                                        "iterations", "status", "mine", "log_likelihood", "x y", "\xff"};
    const auto text_before_zero = [&bytes] {
        const auto zero = std::size_t(std::find(bytes.begin(), bytes.end(), '\0') - bytes.begin());
        const Bytes text = bytes.first(zero);
        bytes = bytes.subspan(std::min(zero + 1, bytes.size()));
        return text;
    };
    const auto next = [&bytes] {
        if (bytes.empty()) return 0u;
        const unsigned value = static_cast<unsigned char>(bytes[0]);
        bytes = bytes.subspan(1);
        return value;
    };
    written(text_before_zero(), "locs.yaml");
    const Bytes metadata = text_before_zero();
    const hid_t types[] = {H5T_STD_U32LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I8LE, H5T_STD_I64BE, H5T_STD_B8LE};
    std::vector<std::pair<std::string, hid_t>> members;
    std::size_t row_bytes = 0;
    for (unsigned k = 0, count = next() % 16; k < count; ++k) {
        std::string name = names[next() % std::size(names)];
        for (const auto& member : members)
            if (member.first == name) name += std::to_string(k);
        members.emplace_back(name, types[next() % std::size(types)]);
        row_bytes += H5Tget_size(members.back().second);
    }
    if (members.empty()) return;
    const auto path = scratch_folder() / "locs.hdf5";
    {
        const hdf5::Handle type(H5Tcreate(H5T_COMPOUND, row_bytes));
        std::size_t offset = 0;
        for (const auto& [name, member] : members) {
            H5Tinsert(type, name.c_str(), offset, member);
            offset += H5Tget_size(member);
        }
        const hdf5::Handle file = hdf5::Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hsize_t shape[] = {bytes.size() / row_bytes};
        hdf5::write_values(file, "locs", type, shape, bytes.data(), path);
        if (!metadata.empty()) hdf5::write_string(file, "metadata", {metadata.data(), metadata.size()}, path);
    }
    read_table(path, 100);
}

/// Reads any bytes as an HDF5 file: as localizations, and as camera maps.
inline void hdf5_bytes(Bytes bytes) {
    const auto path = written(bytes, "any.h5");
    read_table(path, 100);
    try {
        Camera camera;
        read_camera_maps(path, camera);
    } catch (const Error&) {
    }
}

/// Reads the bytes as a camera.toml, as a calibration, and as Picasso's config.yaml.
inline void toml(Bytes bytes) {
    read_any_camera(written(bytes, "config.yaml"));
    const auto path = written(bytes, "camera.toml");
    try {
        const CameraFile file = read_camera(path);
        if (!std::isfinite(file.camera.gain_e_per_adu.scalar)) std::abort();
    } catch (const Error&) {
    }
    try {
        if (!std::isfinite(read_astigmatic_curve(path).sigma_x_nm(0))) std::abort();
    } catch (const Error&) {
    }
}

}  // namespace glint::fuzz
