// Unpacks one chunk with zlib.
// SPDX-License-Identifier: MIT
#include "io/hdf5/guards.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t checksum_bytes = 4;

/// The filters of chunks, as far as they affect lengths.
struct Pipeline {
    bool is_known = true, deflates = false;
    /// checksum bytes that are deflated with the data; all other checksum bytes
    std::uint64_t checksums_inside = 0, checksums = 0;
};

Pipeline pipeline_of(hid_t properties) {
    Pipeline pipeline;
    for (int k = 0; k < H5Pget_nfilters(properties); ++k) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        switch (H5Pget_filter2(properties, unsigned(k), &flags, &values, nullptr, 0, nullptr, &config)) {
            case H5Z_FILTER_SHUFFLE: break;
            case H5Z_FILTER_FLETCHER32: pipeline.checksums += checksum_bytes; break;
            case H5Z_FILTER_DEFLATE:
                pipeline.is_known &= !pipeline.deflates;
                pipeline.deflates = true;
                pipeline.checksums_inside = std::exchange(pipeline.checksums, 0);
                break;
            default: pipeline.is_known = false;
        }
    }
    return pipeline;
}

/// Returns the number of bytes that `packed` unpacks to, at most `most`.
std::uint64_t inflated_bytes(std::vector<unsigned char>& packed, std::uint64_t most) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
    std::vector<unsigned char> out(std::size_t(std::min<std::uint64_t>(most, 1 << 16)));
    stream.next_in = packed.data(), stream.avail_in = unsigned(packed.size());
    int result = Z_OK;
    while (result == Z_OK && stream.total_out < most) {
        stream.next_out = out.data(), stream.avail_out = unsigned(out.size());
        result = inflate(&stream, Z_NO_FLUSH);
    }
    const std::uint64_t bytes = stream.total_out;
    inflateEnd(&stream);
    return bytes;
}

}  // namespace

bool first_chunk_is_whole(hid_t dataset, hid_t properties, std::uint64_t chunk_bytes) {
    const Pipeline pipeline = pipeline_of(properties);
    hsize_t offset[H5S_MAX_RANK] = {}, stored = 0;
    unsigned left_out = 0;
    haddr_t address = HADDR_UNDEF;
    const Handle space(H5Dget_space(dataset));
    if (!pipeline.is_known || H5Pget_nfilters(properties) == 0) return true;
    if (H5Dget_chunk_info(dataset, space, 0, offset, &left_out, &address, &stored) < 0) return false;
    if (address == HADDR_UNDEF || left_out != 0) return true;
    if (!pipeline.deflates) return stored == chunk_bytes + pipeline.checksums;
    if (stored > chunk_bytes + chunk_bytes / 8 + 4096) return false;  // deflate never expands data by so much
    hsize_t found = 0;  // found by its position: in damaged files, it may not be the first chunk of the list
    if (H5Dget_chunk_storage_size(dataset, offset, &found) < 0 || found != stored) return false;
    std::vector<unsigned char> packed(static_cast<std::size_t>(stored));
    std::uint32_t mask = 0;
    if (H5Dread_chunk(dataset, H5P_DEFAULT, offset, &mask, packed.data()) < 0) return false;
    const std::uint64_t expected = chunk_bytes + pipeline.checksums_inside;
    return inflated_bytes(packed, expected + 1) == expected;
}

}  // namespace glint::hdf5
