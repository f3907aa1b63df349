// Inputs of the fuzzers of valid HDF5 files: datasets of any type, length and values.
// SPDX-License-Identifier: MIT
#pragma once

#include "tests/fuzz/localization_readers.hpp"

namespace glint::fuzz {

/// Creates datasets from the fuzzer's bytes: name, type, length, a unit, then values until the bytes end.
class Datasets {
  public:
    explicit Datasets(Bytes bytes) : bytes_(bytes) {}

    unsigned next() {
        if (bytes_.empty()) return 0;
        const unsigned value = static_cast<unsigned char>(bytes_[0]);
        bytes_ = bytes_.subspan(1);
        return value;
    }
    void add(hid_t place, const char* name, std::vector<hsize_t> shape, const std::filesystem::path& path) {
        const hid_t types[] = {H5T_STD_I8LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_U32BE, H5T_STD_I64LE, H5T_C_S1};
        static const char* const units[] = {"",   "e-/ADU", "ADU/e-", "ADU^2", "e- rms", "counts per photon",
                                            "/e", "\xff"};
        const hid_t type = types[next() % std::size(types)];
        std::size_t bytes = H5Tget_size(type);
        for (hsize_t extent : shape) bytes *= extent;
        std::string values(bytes_.begin(), bytes_.begin() + std::ptrdiff_t(std::min(bytes, bytes_.size())));
        bytes_ = bytes_.subspan(values.size());
        values.resize(std::max<std::size_t>(bytes, 1));
        hdf5::write_values(place, name, type, shape, values.data(), path);
        const std::string unit = units[next() % std::size(units)];
        if (unit.empty()) return;
        const hdf5::Handle dataset(H5Dopen2(place, name, H5P_DEFAULT)), text(H5Tcopy(H5T_C_S1)),
            one(H5Screate(H5S_SCALAR));
        H5Tset_size(text, unit.size() > 4 ? H5T_VARIABLE : unit.size());
        const hdf5::Handle attribute(H5Acreate2(dataset, "unit", text, one, H5P_DEFAULT, H5P_DEFAULT));
        const char* pointer = unit.c_str();
        H5Awrite(attribute, text, unit.size() > 4 ? static_cast<const void*>(&pointer) : pointer);
    }

  private:
    Bytes bytes_;
};

inline void smlm(Bytes bytes) {
    const hdf5::Quiet quiet;
    static const char* const names[] = {"frame",     "x",           "y",        "z",       "photons", "sigma_x",
                                        "psf_sigma", "psf_sigma_x", "track_id", "dataset", "id",      "mine"};
    Datasets from(bytes);
    const auto path = scratch_folder() / "locs.smlm.h5";
    {
        const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hdf5::Handle emitters(H5Gcreate2(file, "emitters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        const hsize_t rows = from.next() % 8;
        const unsigned odd = from.next();  // a column of another length, or none
        for (unsigned k = 0; k < std::size(names); ++k)
            if (from.next() % 4 > 0) from.add(emitters, names[k], {rows + (k == odd)}, path);
        const hdf5::Handle camera(H5Gcreate2(file, "camera", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        if (from.next() % 2 > 0) from.add(camera, "pixel_edges_x", {from.next() % 5}, path);
        const hdf5::Handle metadata(H5Gcreate2(file, "metadata", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        if (from.next() % 2 > 0) from.add(metadata, "n_frames", {}, path);
    }
    read_table(path, 100);
}

inline void maps(Bytes bytes) {
    const hdf5::Quiet quiet;
    static const char* const names[] = {"offset", "gain", "readnoise", "readvar", "variance", "qe"};
    Datasets from(bytes);
    const auto path = scratch_folder() / "maps.h5";
    {
        const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hsize_t height = from.next() % 4, width = from.next() % 4;
        for (const char* name : names)
            if (from.next() % 4 > 0) from.add(file, name, {height, width}, path);
    }
    try {
        Camera camera;
        read_camera_maps(path, camera);
        for (const float gain : camera.gain_e_per_adu.map)
            if (!(gain >= 0)) std::abort();
        if (camera.offset_adu.map.size() != std::size_t(camera.sensor_width) * std::size_t(camera.sensor_height))
            std::abort();
    } catch (const Error&) {
    }
}

}  // namespace glint::fuzz
