// Small TIFF files for tests, written by libtiff page by page.
// SPDX-License-Identifier: MIT
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace glint::test {

struct TiffPageOptions {
    std::uint32_t width = 8, height = 6;
    std::uint16_t bits = 16, samples = 1, format = SAMPLEFORMAT_UINT, photometric = PHOTOMETRIC_MINISBLACK;
    std::uint16_t compression = COMPRESSION_NONE;
    std::uint32_t subfile_type = 0;
    std::string description = {};
};

/// Returns byte k of page p of the test pattern.
inline unsigned char pattern_byte(int page, std::size_t k) { return static_cast<unsigned char>(37 * page + 7 * k + 1); }

/// Writes the pages in mode "w" (classic), "wb" (big-endian) or "w8" (BigTIFF). Page p contains pattern_byte(p, ...).
inline std::filesystem::path write_tiff(const std::filesystem::path& path, const std::vector<TiffPageOptions>& pages,
                                        const char* mode = "w") {
    TIFF* tiff = TIFFOpen(path.c_str(), mode);
    for (std::size_t p = 0; p < pages.size(); ++p) {
        const TiffPageOptions& page = pages[p];
        TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, page.subfile_type);
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, page.width);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, page.height);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, page.bits);
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, page.samples);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, page.format);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, page.photometric);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, page.compression);
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, page.height);
        if (!page.description.empty()) TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, page.description.c_str());
        std::vector<unsigned char> bytes(std::size_t(page.width) * page.height * page.samples * page.bits / 8);
        for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = pattern_byte(int(p), k);
        TIFFWriteEncodedStrip(tiff, 0, bytes.data(), tmsize_t(bytes.size()));
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    return path;
}

inline std::filesystem::path write_tiff(const std::filesystem::path& path, int pages, TiffPageOptions page = {},
                                        const char* mode = "w") {
    return write_tiff(path, std::vector<TiffPageOptions>(std::size_t(pages), page), mode);
}

/// Sets a tag in the first directory of a little-endian classic TIFF to a LONG of this value, to forge a wrong header.
inline void set_tag(const std::filesystem::path& path, std::uint16_t tag, std::uint32_t value) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto read = [&]<class T>(std::streamoff at, T number) {
        file.seekg(at);
        file.read(reinterpret_cast<char*>(&number), sizeof number);
        return number;
    };
    const std::streamoff directory = read(4, std::uint32_t());
    for (int k = 0; k < read(directory, std::uint16_t()); ++k) {
        const std::streamoff entry = directory + 2 + 12 * k;
        if (read(entry, std::uint16_t()) != tag) continue;
        const std::uint16_t type = TIFF_LONG;
        file.seekp(entry + 2).write(reinterpret_cast<const char*>(&type), sizeof type);
        file.seekp(entry + 8).write(reinterpret_cast<const char*>(&value), sizeof value);
    }
}

}  // namespace glint::test
