// Decodes the strips and tiles of a page to one frame, by libtiff.
// SPDX-License-Identifier: MIT
#include "io/tiff/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "io/tiff/page.hpp"

namespace glint {
namespace {

std::size_t row_bytes(const MovieInfo& movie) { return std::size_t(movie.width) * std::size_t(bytes_of(movie.type)); }

}  // namespace

void TiffDecoder::fail() {
    const std::string complaint = tiff_.take_complaint();
    throw std::runtime_error(complaint.empty() ? "too few pixels" : complaint);
}

void TiffDecoder::decode(std::uint64_t directory_offset, const MovieInfo& movie, std::byte* out) {
    (void)tiff_.take_complaint();
    if (!TIFFSetSubDirectory(tiff_.get(), directory_offset)) fail();
    // The file may have changed since it was indexed; the page must still fit the frame.
    const TiffPage page = read_page_facts(tiff_, UINT64_MAX);
    if (int(page.width) != movie.width || int(page.height) != movie.height || check_page(page, "it") != movie.type)
        throw std::runtime_error("the page changed after the file was opened");
    TIFFIsTiled(tiff_.get()) ? decode_tiles(movie, out) : decode_strips(movie, out);
}

void TiffDecoder::decode_strips(const MovieInfo& movie, std::byte* out) {
    const auto height = std::uint32_t(movie.height);
    const std::uint32_t rows = std::clamp(tiff_.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, height), 1u, height);
    for (std::uint32_t y = 0; y < height; y += rows) {
        const auto expected = tmsize_t(std::min(rows, height - y) * row_bytes(movie));
        if (TIFFReadEncodedStrip(tiff_.get(), y / rows, out + y * row_bytes(movie), expected) != expected) fail();
    }
}

void TiffDecoder::decode_tiles(const MovieInfo& movie, std::byte* out) {
    TIFF* tiff = tiff_.get();
    const auto tile_width = tiff_.tag<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
    const auto tile_height = tiff_.tag<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    const std::size_t pixel = std::size_t(bytes_of(movie.type)), tile_row = std::size_t(TIFFTileRowSize(tiff));
    const auto width = std::uint32_t(movie.width), height = std::uint32_t(movie.height);
    if (tile_width == 0 || tile_height == 0 || tile_row != tile_width * pixel)
        throw std::runtime_error(fmt::format("tiles of {}x{} pixels", tile_width, tile_height));
    tile_.resize(tile_row * tile_height);
    for (std::uint32_t y = 0; y < height; y += tile_height)
        for (std::uint32_t x = 0; x < width; x += tile_width) {
            const std::uint32_t number = TIFFComputeTile(tiff, x, y, 0, 0);
            if (TIFFReadEncodedTile(tiff, number, tile_.data(), tmsize_t(tile_.size())) != tmsize_t(tile_.size()))
                fail();
            const std::size_t copied = std::min(tile_width, width - x) * pixel;
            for (std::uint32_t row = 0; row < std::min(tile_height, height - y); ++row)
                std::copy_n(tile_.data() + row * tile_row, copied, out + (y + row) * row_bytes(movie) + x * pixel);
        }
}

}  // namespace glint
