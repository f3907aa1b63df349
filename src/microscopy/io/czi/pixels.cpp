// Unpacks Zstandard, in the two ways in which CZI files use it.
// SPDX-License-Identifier: MIT
#include "io/czi/file.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "glint/error.hpp"
#include "io/unpack.hpp"

namespace glint::czi {
namespace {

constexpr const char* way_out =
    "in ZEN, save it without compression or with Zstd (Create Image Subset), or export it as OME-TIFF";
/// Zstandard stores a block of up to 128 KiB of equal bytes in four bytes.
constexpr std::uint64_t largest_compression = std::uint64_t(1) << 15;

/// Joins pixels of two bytes, whose low bytes are all stored before the high bytes.
std::vector<std::byte> joined(const std::vector<std::byte>& planes) {
    std::vector<std::byte> out(planes.size());
    const std::size_t pixels = out.size() / 2;
    for (std::size_t k = 0; k < pixels; ++k) out[2 * k] = planes[k], out[2 * k + 1] = planes[pixels + k];
    return out;
}

/// Returns the length of the header before the data. Sets `apart` if low and high bytes are stored separately.
std::size_t header_of(std::span<const std::byte> packed, bool& apart) {
    const std::size_t bytes = packed.empty() ? 0 : std::size_t(packed[0]);
    apart = false;
    if (bytes == 1) return bytes;
    if (bytes != 3 || packed.size() < bytes || packed[1] != std::byte(1))
        throw std::runtime_error("the header of its compressed data is none that glint knows");
    apart = (packed[2] & std::byte(1)) != std::byte(0);
    return bytes;
}

}  // namespace

StoredPixel stored_as(std::int32_t pixel_type, const std::string& file) {
    switch (pixel_type) {
        case 0: return StoredPixel::uint8;
        case 1: return StoredPixel::uint16;
        case 2: return StoredPixel::float32;
        case 3:
        case 4:
        case 8:
        case 9:
            throw InputError(fmt::format(
                "{}: its pixels have colours, and a movie's are numbers: save one channel of it in ZEN", file));
        default:
            throw InputError(fmt::format(
                "{}: its pixels are of CZI's type {}, which is not read; Gray8, Gray16 and Gray32Float are: {}", file,
                pixel_type, way_out));
    }
}

Compression compression_of(std::int32_t number, const std::string& file) {
    switch (Compression(number)) {
        case Compression::none:
        case Compression::zstd0:
        case Compression::zstd1: return Compression(number);
        case Compression::jpeg:
        case Compression::jpeg_xr:
            throw InputError(
                fmt::format("{}: its frames are compressed by {}, which is not read and may have changed "
                            "their noise: {}",
                            file, Compression(number) == Compression::jpeg ? "JPEG" : "JPEG XR", way_out));
        default:
            throw InputError(fmt::format("{}: its frames have CZI's compression {}, which is not read: {}", file,
                                         Compression(number) == Compression::lzw ? "LZW" : fmt::format("{}", number),
                                         way_out));
    }
}

std::uint64_t min_packed(std::uint64_t bytes, Compression compression) {
    return compression == Compression::none ? bytes : bytes / largest_compression;
}

std::vector<std::byte> unpacked(std::span<const std::byte> packed, Compression compression, std::size_t bytes) {
    bool apart = false;
    if (compression == Compression::zstd1) packed = packed.subspan(header_of(packed, apart));
    if (apart && bytes % 2 != 0) throw std::runtime_error("its pixels have one byte, and its compressed data two");
    std::vector<std::byte> out(bytes);
    unpack_zstd(packed, out);
    return apart ? joined(out) : out;
}

}  // namespace glint::czi
