// Finds chunks through HDF5, and unpacks them without it.
// SPDX-License-Identifier: MIT
#include "io/hdf5/stored_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/unpack.hpp"

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t largest_chunk_bytes = std::uint64_t(1) << 28, checksum_bytes = 4;
/// Deflate shrinks data to 1/1032 at best.
constexpr double largest_compression = 1100;

[[noreturn]] void refuse(const InputFile& file, const std::string& name, const std::string& why) {
    throw InputError(fmt::format("{}: {} {}", file.name(), name, why));
}

std::optional<StoredPixel> pixel_of(hid_t type) {
    const std::size_t bytes = H5Tget_size(type);
    if (!is_numeric(type) || H5Tget_precision(type) != 8 * bytes) return std::nullopt;
    const bool is_signed = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    if (H5Tget_class(type) == H5T_FLOAT)
        return bytes == 4   ? std::optional(StoredPixel::float32)
               : bytes == 8 ? std::optional(StoredPixel::float64)
                            : std::nullopt;
    switch (bytes) {
        case 1: return is_signed ? StoredPixel::int8 : StoredPixel::uint8;
        case 2: return is_signed ? StoredPixel::int16 : StoredPixel::uint16;
        case 4: return is_signed ? StoredPixel::int32 : StoredPixel::uint32;
        case 8: return is_signed ? StoredPixel::int64 : StoredPixel::uint64;
        default: return std::nullopt;
    }
}

void take_filters(hid_t properties, const std::string& name, const InputFile& file, ArrayLayout& layout) {
    for (int k = 0; k < H5Pget_nfilters(properties); ++k) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        char filter_name[64] = "";
        const H5Z_filter_t filter =
            H5Pget_filter2(properties, unsigned(k), &flags, &values, nullptr, sizeof filter_name, filter_name, &config);
        filter_name[sizeof filter_name - 1] = '\0';
        const bool is_last_but_checksum = !layout.is_deflated && layout.checksum_bytes == 0;
        if (filter == H5Z_FILTER_SHUFFLE && is_last_but_checksum && !layout.is_shuffled)
            layout.is_shuffled = true;
        else if (filter == H5Z_FILTER_DEFLATE && is_last_but_checksum)
            layout.is_deflated = true;
        else if (filter == H5Z_FILTER_FLETCHER32 && layout.checksum_bytes == 0)
            layout.checksum_bytes = checksum_bytes;
        else
            refuse(file, name,
                   fmt::format("is compressed by {} (HDF5 filter {}), which is not read for movies, or by several "
                               "filters in an unusual order: write it again with gzip, or without compression "
                               "(h5repack -f GZIP=1 OLD NEW)",
                               *filter_name ? filter_name : "an unknown filter", int(filter)));
    }
}

// Called before anything is read: neither chunks nor the number of chunks may exceed what the file can contain.
void check_claims(hid_t dataset, const std::string& name, const InputFile& file, const StoredArray& array) {
    double values = 1, chunks = 1;
    for (int k = 0; k < 3; ++k) {
        const auto extent = array.shape[std::size_t(k)], edge = array.layout.chunk[std::size_t(k)];
        if (extent == 0 || edge == 0) refuse(file, name, "holds no pixels");
        values *= double(extent), chunks *= double((extent - 1) / edge + 1);
    }
    const double stored = double(std::min<std::uint64_t>(H5Dget_storage_size(dataset), file.size()));
    const double chunk_bytes = double(array.layout.chunk[0]) * double(array.layout.chunk[1]) *
                               double(array.layout.chunk[2]) * num_bytes(array.layout.type);
    const double claimed = values * num_bytes(array.layout.type);
    if (claimed > stored * (array.layout.is_deflated ? largest_compression : 1) && chunks > 1)
        refuse(file, name,
               fmt::format("claims {:.0f} bytes, and {:.0f} are stored: the file is damaged or truncated; copy it "
                           "again",
                           claimed, stored));
    if (chunk_bytes > double(largest_chunk_bytes) || chunk_bytes > largest_compression * double(file.size()))
        refuse(file, name,
               fmt::format("is stored in chunks of {:.0f} bytes, more than the limit of {}: rewrite it with smaller "
                           "ones (h5repack)",
                           chunk_bytes, largest_chunk_bytes));
    if (chunks > double(file.size()) / 16)
        refuse(file, name, fmt::format("claims {:.0f} chunks, more than the file can hold: it is damaged", chunks));
}

// Data that are not stored are read as 0, the fill value of all writers of movies.
void check_fill(hid_t properties, const std::string& name, const InputFile& file) {
    H5D_fill_value_t kind = H5D_FILL_VALUE_DEFAULT;
    double value = 0;
    if (H5Pfill_value_defined(properties, &kind) < 0) refuse(file, name, "is a damaged dataset; copy the file again");
    if (kind != H5D_FILL_VALUE_USER_DEFINED) return;
    if (H5Pget_fill_value(properties, H5T_NATIVE_DOUBLE, &value) < 0 || value != 0)
        refuse(file, name, "has another fill value than 0, which is not read for movies: write it again without");
}

Extent3 three(const std::vector<hsize_t>& extents) { return {extents[0], extents[1], extents[2]}; }

/// Reverses HDF5's shuffle, which stores the first bytes of all values, then the second ones, ...
void unshuffle(const std::vector<std::byte>& from, int bytes_per_value, std::vector<std::byte>& to) {
    const std::size_t values = from.size() / std::size_t(bytes_per_value);
    to.resize(from.size());
    for (int b = 0; b < bytes_per_value; ++b)
        for (std::size_t k = 0; k < values; ++k)
            to[k * std::size_t(bytes_per_value) + std::size_t(b)] = from[std::size_t(b) * values + k];
}

}  // namespace

StoredArray stored_array(hid_t place, const char* name, const InputFile& file, Handle& dataset) {
    const Quiet quiet;
    if (!has(place, name)) refuse(file, name, "is missing");
    H5O_info_t info;
    if (H5Oget_info_by_name(place, name, &info, H5P_DEFAULT) < 0 || info.type != H5O_TYPE_DATASET)
        refuse(file, name, "is no dataset");
    dataset = Handle(H5Dopen2(place, name, H5P_DEFAULT));
    if (!dataset.valid()) refuse(file, name, "is a damaged dataset; copy the file again");
    const Handle properties(H5Dget_create_plist(dataset)), type(H5Dget_type(dataset));
    const auto shape = shape_of(dataset);
    const auto pixel = pixel_of(type);
    if (shape.size() != 3) refuse(file, name, fmt::format("has {} dimensions, not 3", shape.size()));
    if (!pixel) refuse(file, name, "has no whole or floating-point numbers of 1 to 8 bytes");
    StoredArray array;
    array.shape = three(shape);
    array.layout.type = *pixel;
    array.layout.big_endian = H5Tget_order(type) == H5T_ORDER_BE;
    const H5D_layout_t layout = H5Pget_layout(properties);
    if ((layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS) || H5Pget_external_count(properties) > 0)
        refuse(file, name,
               "is stored in other files, or inside its header, which is not read for movies: h5repack OLD NEW");
    hsize_t chunk[H5S_MAX_RANK] = {};
    if (layout == H5D_CHUNKED && H5Pget_chunk(properties, H5S_MAX_RANK, chunk) != 3)
        refuse(file, name, "has chunks of other dimensions than its own: the file is damaged");
    // Without chunks a plane is read in one piece.
    array.layout.chunk =
        layout == H5D_CHUNKED ? Extent3{chunk[0], chunk[1], chunk[2]} : Extent3{1, array.shape[1], array.shape[2]};
    check_fill(properties, name, file);
    take_filters(properties, name, file, array.layout);
    check_claims(dataset, name, file, array);
    return array;
}

std::vector<StoredChunk> chunks_of_plane(hid_t dataset, const StoredArray& array, std::uint64_t z) {
    const Quiet quiet;
    const Handle properties(H5Dget_create_plist(dataset));
    const auto& [planes, rows, columns] = array.layout.chunk;
    std::vector<StoredChunk> chunks;
    if (H5Pget_layout(properties) != H5D_CHUNKED) {
        const haddr_t begin = H5Dget_offset(dataset);
        const std::uint64_t bytes = array.layout.chunk_bytes();
        if (begin == HADDR_UNDEF) return {{}};
        return {{begin + z * bytes, std::uint32_t(bytes), false}};
    }
    for (std::uint64_t y = 0; y < array.shape[1]; y += rows)
        for (std::uint64_t x = 0; x < array.shape[2]; x += columns) {
            const hsize_t offset[] = {z / planes * planes, y, x};
            unsigned left_out = 0;
            haddr_t begin = HADDR_UNDEF;
            hsize_t bytes = 0;
            const bool is_found = H5Dget_chunk_info_by_coord(dataset, offset, &left_out, &begin, &bytes) >= 0;
            if (!is_found || begin == HADDR_UNDEF)
                chunks.push_back({});
            else
                chunks.push_back({begin, std::uint32_t(std::min<hsize_t>(bytes, UINT32_MAX)), left_out == 0});
        }
    return chunks;
}

void unpack(const InputFile& file, const StoredChunk& chunk, const ArrayLayout& layout, std::vector<std::byte>& out) {
    const std::uint64_t bytes = layout.chunk_bytes();
    out.assign(chunk.bytes == 0 ? std::size_t(bytes) : 0, std::byte{});
    if (chunk.bytes == 0) return;
    if (chunk.begin > file.size() || chunk.bytes > file.size() - chunk.begin || chunk.bytes > 2 * bytes + 4096)
        throw std::runtime_error(
            fmt::format("a chunk claims {} bytes at byte {} of the file", chunk.bytes, chunk.begin));
    std::vector<std::byte> packed(chunk.bytes);
    if (file.read_at(chunk.begin, packed.data(), packed.size()) != packed.size())
        throw std::runtime_error("the file became shorter after it was opened");
    if (chunk.is_filtered && layout.is_deflated) {
        const std::size_t behind = std::size_t(layout.checksum_bytes);
        packed.resize(packed.size() - std::min(packed.size(), behind));
        out.resize(std::size_t(bytes));
        inflate_into(packed, out);
    } else {
        if (packed.size() < bytes)
            throw std::runtime_error(fmt::format("a chunk has {} bytes, not {}", packed.size(), bytes));
        packed.resize(std::size_t(bytes));
        out.swap(packed);
    }
    if (chunk.is_filtered && layout.is_shuffled && num_bytes(layout.type) > 1) {
        unshuffle(out, num_bytes(layout.type), packed);
        out.swap(packed);
    }
    if (layout.big_endian == host_is_little_endian) swap_bytes(out.data(), out.size(), num_bytes(layout.type));
}

}  // namespace glint::hdf5
