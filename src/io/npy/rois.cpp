// ROI stacks from NumPy's .npy files.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/npy/header.hpp"
#include "io/roi_readers.hpp"

namespace glint {
namespace {

constexpr std::size_t chunk_values = 1 << 16;

template <class T>
void to_floats(const std::byte* bytes, std::size_t count, float* out) {
    for (std::size_t k = 0; k < count; ++k) {
        T value;
        std::memcpy(&value, bytes + k * sizeof(T), sizeof(T));
        out[k] = float(value);
    }
}

struct ValueType {
    const char* name;
    int bytes;
    void (*to_floats)(const std::byte*, std::size_t, float*);
};
constexpr ValueType value_types[] = {{"u1", 1, to_floats<std::uint8_t>}, {"u2", 2, to_floats<std::uint16_t>},
                                     {"i2", 2, to_floats<std::int16_t>}, {"i4", 4, to_floats<std::int32_t>},
                                     {"f4", 4, to_floats<float>},        {"f8", 8, to_floats<double>}};

const ValueType& value_type(const NpyHeader& header, const std::string& file) {
    for (const ValueType& type : value_types)
        if (header.type == type.name && (type.bytes == 1 || header.byte_order == '<' || header.byte_order == '>'))
            return type;
    throw InputError(
        fmt::format("{}: values of type {}{} are not read; uint8, uint16, int16, int32, float32 and float64 "
                    "are: convert with numpy.astype",
                    file, header.byte_order, header.type));
}

// In Fortran order the ROI's number runs fastest and the column slowest.
std::vector<float> c_order_from_fortran_order(const std::vector<float>& fortran, std::size_t rois, std::size_t size) {
    std::vector<float> c(fortran.size());
    for (std::size_t column = 0; column < size; ++column)
        for (std::size_t row = 0; row < size; ++row)
            for (std::size_t k = 0; k < rois; ++k)
                c[(k * size + row) * size + column] = fortran[(column * size + row) * rois + k];
    return c;
}

std::vector<float> read_values(const InputFile& file, const NpyHeader& header, const ValueType& type,
                               std::size_t values) {
    std::vector<float> out(values);
    std::vector<std::byte> bytes(std::min(values, chunk_values) * std::size_t(type.bytes));
    const bool swapped = header.byte_order != (host_is_little_endian ? '<' : '>');
    for (std::size_t done = 0; done < values; done += chunk_values) {
        const std::size_t count = std::min(chunk_values, values - done), n_bytes = count * std::size_t(type.bytes);
        if (file.read_at(header.data_offset + done * std::size_t(type.bytes), bytes.data(), n_bytes) < n_bytes)
            throw InputError(fmt::format("{}: became shorter while it was read", file.name()));
        if (swapped) swap_bytes(bytes.data(), n_bytes, type.bytes);
        type.to_floats(bytes.data(), count, out.data() + done);
    }
    return out;
}

}  // namespace

int roi_size_of_shape(const std::vector<std::uint64_t>& shape, const std::string& file) {
    if (shape.size() == 3 && shape[0] >= 1 && shape[1] == shape[2] && shape[1] >= min_roi_size &&
        shape[1] <= max_roi_size)
        return int(shape[1]);
    throw InputError(
        fmt::format("{}: its shape ({}) is no stack of ROIs: (n, S, S) with n >= 1 and S from {} to {} is; a movie is "
                    "for `glint localize`",
                    file, fmt::join(shape, ", "), min_roi_size, max_roi_size));
}

RoiCounts read_npy_rois(const std::filesystem::path& path) {
    const InputFile file(path);
    const NpyHeader header = read_npy_header(file);
    RoiCounts rois;
    rois.size = roi_size_of_shape(header.shape, file.name());
    const ValueType& type = value_type(header, file.name());
    const std::uint64_t roi_values = std::uint64_t(rois.size) * std::uint64_t(rois.size);
    const std::uint64_t stored = file.size() - std::min(file.size(), header.data_offset);
    const std::uint64_t whole_rois = stored / (roi_values * std::uint64_t(type.bytes));
    if (header.shape[0] > whole_rois)
        throw InputError(fmt::format("{}: is truncated: its header says {} ROIs, {} are there whole; copy it again",
                                     file.name(), header.shape[0], whole_rois));
    rois.counts = read_values(file, header, type, std::size_t(header.shape[0] * roi_values));
    if (header.fortran_order)
        rois.counts = c_order_from_fortran_order(rois.counts, std::size_t(header.shape[0]), std::size_t(rois.size));
    return rois;
}

}  // namespace glint
