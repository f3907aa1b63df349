// Finds chunks and unpacks them.
// SPDX-License-Identifier: MIT
#include "io/hdf5/chunked_array.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <stdexcept>

#include "glint/error.hpp"

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t max_chunks = std::uint64_t(1) << 24;

[[noreturn]] void refuse(const InputFile& file, const std::string& why) {
    throw InputError(fmt::format("{}: {}", file.name(), why));
}

void take_filters(hid_t properties, const std::string& name, const InputFile& file, ChunkedArray& array) {
    for (int k = 0; k < H5Pget_nfilters(properties); ++k) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(properties, unsigned(k), &flags, &values, nullptr, 0, nullptr, &config);
        if (filter == H5Z_FILTER_DEFLATE && !array.deflates)
            array.deflates = true;
        else if (filter == H5Z_FILTER_SHUFFLE && !array.shuffles && !array.deflates)
            array.shuffles = true;
        else
            refuse(file, fmt::format("{} is stored through HDF5's filter {}, which is not read for movies; shuffle and "
                                     "deflate are: h5repack -f GZIP=3 OLD NEW",
                                     name, int(filter)));
    }
}

/// Which dimensions of the dataset are the array's three; all other dimensions have size 1.
struct Dimensions {
    std::size_t all = 0;
    std::vector<std::size_t> three;

    std::vector<hsize_t> place(hsize_t a, hsize_t b, hsize_t c) const {
        std::vector<hsize_t> at(all, 0);
        at[three[0]] = a, at[three[1]] = b, at[three[2]] = c;
        return at;
    }
};

bool has_bytes_at(const InputFile& file, std::uint64_t offset, const std::vector<std::byte>& bytes) {
    std::vector<std::byte> found(bytes.size());
    return file.read_at(offset, found.data(), found.size()) == found.size() && found == bytes;
}

// Some versions of HDF5 count chunk addresses from the end of a user block, other versions from the beginning of the
// file. The bytes of the first chunk that differs between both positions decide.
std::uint64_t base_of(hid_t dataset, const Dimensions& dimensions, const ChunkedArray& array, const InputFile& file) {
    const Handle owner(H5Iget_file_id(dataset)), creation(H5Fget_create_plist(owner));
    hsize_t user_block = 0;
    if (H5Pget_userblock(creation, &user_block) < 0 || user_block == 0) return 0;
    for (std::size_t k = 0; k < array.places.size(); ++k) {
        const ChunkPlace& place = array.places[k];
        if (place.bytes == 0) continue;
        const std::vector<hsize_t> at = dimensions.place(k / (array.chunks[1] * array.chunks[2]) * array.chunk[0],
                                                         k / array.chunks[2] % array.chunks[1] * array.chunk[1],
                                                         k % array.chunks[2] * array.chunk[2]);
        hsize_t found = 0;
        if (H5Dget_chunk_storage_size(dataset, at.data(), &found) < 0 || found != place.bytes) break;
        std::vector<std::byte> bytes(std::size_t(place.bytes));
        std::uint32_t mask = 0;
        if (H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &mask, bytes.data()) < 0) break;
        const bool is_here = has_bytes_at(file, place.offset, bytes);
        if (is_here != has_bytes_at(file, place.offset + user_block, bytes)) return is_here ? 0 : user_block;
    }
    return user_block;
}

ChunkPlace place_of(hid_t dataset, const std::vector<hsize_t>& at, const ChunkedArray& array, const InputFile& file) {
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info_by_coord(dataset, at.data(), &mask, &address, &bytes) < 0)
        refuse(file, "its list of chunks is damaged: copy or write it again");
    if (address == HADDR_UNDEF) return {};
    if (bytes > file.size() || (mask != 0 && array.shuffles))
        refuse(file, fmt::format("a chunk claims {} bytes and filters {}: the file is damaged", bytes, mask));
    return {address, bytes, mask == 0};
}

void unshuffle(std::vector<std::byte>& bytes, std::size_t value_bytes) {
    const std::size_t count = bytes.size() / value_bytes;
    std::vector<std::byte> out(bytes.size());
    for (std::size_t b = 0; b < value_bytes; ++b)
        for (std::size_t k = 0; k < count; ++k) out[k * value_bytes + b] = bytes[b * count + k];
    bytes.swap(out);
}

}  // namespace

std::optional<StoredType> stored_type(hid_t type) {
    const struct {
        hid_t little, big;
        StoredPixel pixel;
    } known[] = {
        {H5T_STD_U8LE, H5T_STD_U8BE, StoredPixel::uint8},       {H5T_STD_I8LE, H5T_STD_I8BE, StoredPixel::int8},
        {H5T_STD_U16LE, H5T_STD_U16BE, StoredPixel::uint16},    {H5T_STD_I16LE, H5T_STD_I16BE, StoredPixel::int16},
        {H5T_STD_U32LE, H5T_STD_U32BE, StoredPixel::uint32},    {H5T_STD_I32LE, H5T_STD_I32BE, StoredPixel::int32},
        {H5T_STD_U64LE, H5T_STD_U64BE, StoredPixel::uint64},    {H5T_STD_I64LE, H5T_STD_I64BE, StoredPixel::int64},
        {H5T_IEEE_F32LE, H5T_IEEE_F32BE, StoredPixel::float32}, {H5T_IEEE_F64LE, H5T_IEEE_F64BE, StoredPixel::float64}};
    for (const auto& one : known) {
        if (H5Tequal(type, one.little) > 0) return StoredType{one.pixel, false};
        if (H5Tequal(type, one.big) > 0) return StoredType{one.pixel, true};
    }
    return std::nullopt;
}

std::vector<std::size_t> three_dimensions(const std::vector<hsize_t>& shape) {
    std::vector<std::size_t> kept(shape.size());
    for (std::size_t k = 0; k < kept.size(); ++k) kept[k] = k;
    // If several dimensions are 1, keeps the last ones: frames of one row are still frames.
    for (std::size_t k = 0; k < kept.size() && kept.size() > 3;)
        if (shape[kept[k]] == 1)
            kept.erase(kept.begin() + std::ptrdiff_t(k));
        else
            ++k;
    return kept.size() == 3 ? kept : std::vector<std::size_t>();
}

ChunkedArray chunked_array(hid_t dataset, const std::string& name, const InputFile& file) {
    const Quiet quiet;
    const Handle type(H5Dget_type(dataset)), properties(H5Dget_create_plist(dataset));
    const auto stored = stored_type(type);
    const auto shape = shape_of(dataset);
    const Dimensions dimensions{shape.size(), three_dimensions(shape)};
    std::vector<hsize_t> in_file(shape.size());
    const int rank = int(shape.size());
    if (!stored || dimensions.three.empty() || H5Pget_chunk(properties, rank, in_file.data()) != rank)
        refuse(file, fmt::format("{} is no array of numbers of three dimensions", name));
    std::vector<hsize_t> chunk;
    hsize_t in_chunk = 1;
    for (const hsize_t edge : in_file) in_chunk *= edge;
    for (const std::size_t k : dimensions.three) chunk.push_back(in_file[k]);
    if (in_chunk == 0 || in_chunk != chunk[0] * chunk[1] * chunk[2])
        refuse(file, fmt::format("{} has chunks beyond its dimensions of 1: h5repack -f GZIP=3 OLD NEW", name));
    ChunkedArray array;
    array.type = *stored;
    take_filters(properties, name, file, array);
    std::uint64_t all = 1;
    for (int k = 0; k < 3; ++k) {
        const hsize_t edge = chunk[std::size_t(k)];
        array.shape[k] = shape[dimensions.three[std::size_t(k)]];
        array.chunk[k] = edge;
        array.chunks[k] = array.shape[k] / edge + (array.shape[k] % edge != 0);
        if (array.chunks[k] > max_chunks || (all *= array.chunks[k]) > max_chunks)
            refuse(file,
                   fmt::format("{} is stored in more than {} chunks: h5repack -f GZIP=3 -l CHUNK=1x512x512 OLD NEW",
                               name, max_chunks));
    }
    for (hsize_t a = 0; a < array.shape[0]; a += chunk[0])
        for (hsize_t b = 0; b < array.shape[1]; b += chunk[1])
            for (hsize_t c = 0; c < array.shape[2]; c += chunk[2])
                array.places.push_back(place_of(dataset, dimensions.place(a, b, c), array, file));
    const std::uint64_t base = base_of(dataset, dimensions, array, file);
    for (ChunkPlace& place : array.places) place.offset += base;
    return array;
}

void read_chunk(const ChunkedArray& array, const InputFile& file, std::size_t number, std::vector<std::byte>& out) {
    const ChunkPlace& place = array.places[number];
    out.assign(std::size_t(array.chunk_bytes()), std::byte());
    if (place.bytes == 0) return;
    std::vector<std::byte> packed(static_cast<std::size_t>(place.bytes));
    if (file.read_at(place.offset, packed.data(), packed.size()) != packed.size())
        throw std::runtime_error("a chunk of it lies beyond the file's end");
    if (array.deflates && place.is_packed) {
        uLongf bytes = out.size();
        const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &bytes,
                                      reinterpret_cast<const Bytef*>(packed.data()), packed.size());
        if (status != Z_OK || bytes != out.size()) throw std::runtime_error("a chunk of it cannot be unpacked");
    } else if (packed.size() == out.size()) {
        out.swap(packed);
    } else {
        throw std::runtime_error("a chunk of it has another length than it should");
    }
    if (array.shuffles && place.is_packed) unshuffle(out, std::size_t(num_bytes(array.type.pixel)));
}

}  // namespace glint::hdf5
