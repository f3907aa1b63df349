// Decodes the strips and tiles of a page to one frame, by libtiff.
// SPDX-License-Identifier: MIT
#include "io/tiff/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "io/tiff/page.hpp"

namespace glint {
namespace {

[[noreturn]] void fail_to_decode(TiffHandle& tiff) {
    const std::string complaint = tiff.take_complaint();
    throw std::runtime_error(complaint.empty() ? "too few pixels" : complaint);
}

void decode_strips(TiffHandle& tiff, const MovieInfo& movie, std::size_t pixel, std::byte* out) {
    const std::size_t row_bytes = std::size_t(movie.width) * pixel;
    const auto height = std::uint32_t(movie.height);
    const std::uint32_t rows = std::clamp(tiff.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, height), 1u, height);
    for (std::uint32_t y = 0; y < height; y += rows) {
        const auto expected = tmsize_t(std::min(rows, height - y) * row_bytes);
        if (TIFFReadEncodedStrip(tiff.get(), y / rows, out + y * row_bytes, expected) != expected) fail_to_decode(tiff);
    }
}

void decode_tiles(TiffHandle& handle, const MovieInfo& movie, std::size_t pixel, std::byte* out) {
    const std::size_t row_bytes = std::size_t(movie.width) * pixel;
    TIFF* tiff = handle.get();
    const auto tile_width = handle.tag<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
    const auto tile_height = handle.tag<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    const std::size_t tile_row = std::size_t(TIFFTileRowSize(tiff));
    const auto width = std::uint32_t(movie.width), height = std::uint32_t(movie.height);
    if (tile_width == 0 || tile_height == 0 || tile_row != tile_width * pixel)
        throw std::runtime_error(fmt::format("tiles of {}x{} pixels", tile_width, tile_height));
    std::vector<std::byte> tile(tile_row * tile_height);
    for (std::uint32_t y = 0; y < height; y += tile_height)
        for (std::uint32_t x = 0; x < width; x += tile_width) {
            const std::uint32_t number = TIFFComputeTile(tiff, x, y, 0, 0);
            if (TIFFReadEncodedTile(tiff, number, tile.data(), tmsize_t(tile.size())) != tmsize_t(tile.size()))
                fail_to_decode(handle);
            const std::size_t copied = std::min(tile_width, width - x) * pixel;
            for (std::uint32_t row = 0; row < std::min(tile_height, height - y); ++row)
                std::copy_n(tile.data() + row * tile_row, copied, out + (y + row) * row_bytes + x * pixel);
        }
}

}  // namespace

void decode_page(const InputFile& file, std::uint64_t directory_offset, const MovieInfo& movie, StoredPixel stored,
                 std::byte* out) try {
    TiffHandle tiff(file, directory_offset);
    (void)tiff.take_complaint();  // of a tag that is not needed
    // The file may have changed since it was indexed; the page must still fit the frame.
    const TiffPage page = read_page_facts(tiff, UINT64_MAX);
    if (int(page.width) != movie.width || int(page.height) != movie.height || check_page(page, "it") != stored)
        throw std::runtime_error("the page changed after the file was opened");
    const auto pixel = std::size_t(bytes_of(stored));
    TIFFIsTiled(tiff.get()) ? decode_tiles(tiff, movie, pixel, out) : decode_strips(tiff, movie, pixel, out);
} catch (const BrokenTiff&) {
    throw std::runtime_error("the page's directory is no longer where it was when the file was opened");
}

}  // namespace glint
