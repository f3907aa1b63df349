// Reads and checks a TIFF page's directory.
// SPDX-License-Identifier: MIT
#include "io/tiff/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"
#include "io/metadata_values.hpp"

namespace glint {
namespace {

// Deflate packs at most 1032:1 and LZW about 2000:1. A page that claims more than this is hostile or broken.
constexpr std::uint64_t largest_compression_ratio = 4096;
constexpr std::uint64_t smallest_strip_entry_bytes = 4;  // two SHORTs: place and length

std::uint64_t bytes_inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes) {
    return offset >= file_bytes ? 0 : std::min(bytes, file_bytes - offset);
}

constexpr std::uint64_t header_bytes = 8;  // contains no pixels

// Returns true if strips of raw pixels follow each other without gaps. Does not trust the file's byte counts, because
// some programs write wrong ones if readers do not need them.
bool is_one_piece(TIFF* tiff, const TiffPage& page, std::uint32_t strips) {
    if (page.compression != COMPRESSION_NONE || TIFFIsTiled(tiff)) return false;
    if (page.samples != 1 || page.bits % 8 != 0) return false;
    std::uint16_t fill_order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &fill_order);
    if (fill_order != FILLORDER_MSB2LSB) return false;
    std::uint32_t rows = page.height;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
    const std::uint64_t step = page.frame_bytes() / std::max(page.height, 1u) * std::min(rows, page.height);
    const std::uint64_t start = TIFFGetStrileOffset(tiff, 0);
    for (std::uint32_t k = 1; k < strips; ++k)
        if (TIFFGetStrileOffset(tiff, k) != start + k * step) return false;
    return start >= header_bytes;
}

void add_strip_bytes(TIFF* tiff, std::uint32_t strips, std::uint64_t file_bytes, TiffPage& page) {
    for (std::uint32_t k = 0; k < strips; ++k) {
        const std::uint64_t bytes = TIFFGetStrileByteCount(tiff, k);
        page.stored_bytes += std::min(bytes, std::uint64_t(1) << 48);
        page.found_bytes += bytes_inside(TIFFGetStrileOffset(tiff, k), bytes, file_bytes);
    }
}

}  // namespace

TiffPage read_page_facts(const TiffHandle& handle, std::uint64_t file_bytes) {
    TIFF* tiff = handle.get();
    TiffPage page;
    page.width = handle.tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
    page.height = handle.tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
    page.bits = handle.tag<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
    page.samples = handle.tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
    page.format = handle.tag<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    page.photometric = handle.tag<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    page.compression = handle.tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    page.reduced = handle.tag<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0) & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
    page.directory_offset = TIFFCurrentDirOffset(tiff);
    if (TIFFIsTiled(tiff)) page.tile_bytes = TIFFTileSize64(tiff);
    const std::uint32_t strips = TIFFIsTiled(tiff) ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
    if (strips > 1) page.index_bytes = std::uint64_t(strips) * smallest_strip_entry_bytes;
    if (page.index_bytes > file_bytes) return page;
    if (is_one_piece(tiff, page, strips))
        place_pixels(TIFFGetStrileOffset(tiff, 0), file_bytes, page);
    else
        add_strip_bytes(tiff, strips, file_bytes, page);
    return page;
}

void place_pixels(std::uint64_t offset, std::uint64_t file_bytes, TiffPage& page) {
    page.data_offset = offset < header_bytes ? 0 : offset;
    page.stored_bytes = page.frame_bytes();
    page.found_bytes = bytes_inside(offset, page.stored_bytes, file_bytes);
}

StoredPixel check_page(const TiffPage& page, const std::string& where) {
    if (page.samples != 1 || page.photometric == PHOTOMETRIC_RGB || page.photometric == PHOTOMETRIC_YCBCR)
        throw InputError(
            fmt::format("{} has {} values a pixel: a colour image is no camera frame; save one channel "
                        "as a grey movie",
                        where, page.samples));
    if (!TIFFIsCODECConfigured(page.compression))
        throw InputError(
            fmt::format("{} is compressed by {}, which is not read here: save it without compression, or with "
                        "Deflate or LZW",
                        where, compression_name(page.compression)));
    if (page.width < 1 || page.height < 1 || page.width > largest_edge_px || page.height > largest_edge_px)
        throw InputError(
            fmt::format("{} is {}x{} pixels, outside 1 to {}", where, page.width, page.height, largest_edge_px));
    if (std::max(page.frame_bytes(), page.tile_bytes) / largest_compression_ratio > page.stored_bytes)
        throw InputError(fmt::format("{} claims {}x{} pixels ({} bytes) in {} stored bytes: the file is damaged", where,
                                     page.width, page.height, page.frame_bytes(), page.stored_bytes));
    const bool is_unsigned = page.format == SAMPLEFORMAT_UINT || page.format == SAMPLEFORMAT_VOID;
    const bool is_signed = page.format == SAMPLEFORMAT_INT, is_float = page.format == SAMPLEFORMAT_IEEEFP;
    if (is_float && page.bits == 16) return StoredPixel::float16;
    if (is_float && page.bits == 32) return StoredPixel::float32;
    if (is_float && page.bits == 64) return StoredPixel::float64;
    if ((is_unsigned || is_signed) && page.bits == 8) return is_signed ? StoredPixel::int8 : StoredPixel::uint8;
    if ((is_unsigned || is_signed) && page.bits == 16) return is_signed ? StoredPixel::int16 : StoredPixel::uint16;
    if ((is_unsigned || is_signed) && page.bits == 32) return is_signed ? StoredPixel::int32 : StoredPixel::uint32;
    if ((is_unsigned || is_signed) && page.bits == 64) return is_signed ? StoredPixel::int64 : StoredPixel::uint64;
    const char* kind = is_unsigned ? "unsigned" : is_signed ? "signed" : is_float ? "floating-point" : "complex";
    throw InputError(fmt::format(
        "{} has {}-bit {} pixels; integers of 8, 16, 32 and 64 bits and floating-point numbers of 16, 32 and "
        "64 are read: convert it to one of these",
        where, page.bits, kind));
}

std::string compression_name(int compression) {
    struct Name {
        int number;
        const char* text;
    };
    // Compressions that libtiff does not name, or names unusually.
    constexpr Name names[] = {{COMPRESSION_NONE, "none"},
                              {COMPRESSION_OJPEG, "old JPEG"},
                              {33003, "JPEG 2000"},
                              {33005, "JPEG 2000"},
                              {33007, "JPEG"},
                              {34712, "JPEG 2000"},
                              {34892, "lossy JPEG"},
                              {34933, "PNG"},
                              {34934, "JPEG XR"},
                              {22610, "JPEG XR"},
                              {48124, "JPEG XR"},
                              {50002, "JPEG XL"},
                              {52546, "JPEG XL"}};
    for (const Name& name : names)
        if (name.number == compression) return name.text;
    const TIFFCodec* codec = TIFFFindCODEC(std::uint16_t(compression));
    return codec ? codec->name : fmt::format("number {}", compression);
}

}  // namespace glint
