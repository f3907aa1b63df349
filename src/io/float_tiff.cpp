// Float TIFF pictures with their scale, as ImageJ and tifffile read them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <memory>

#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "io/atomic_file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

struct CloseTiff {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using Tiff = std::unique_ptr<TIFF, CloseTiff>;

/// The library never prints, so libtiff must not either.
Tiff open_silently(const AtomicFile& file, const char* mode) {
    const auto silent = [](TIFF*, void*, const char*, const char*, va_list) { return 1; };
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options, silent, nullptr);
    TIFFOpenOptionsSetWarningHandlerExtR(options, silent, nullptr);
    errno = 0;
    Tiff tiff(TIFFOpenExt(file.temporary().c_str(), mode, options));
    TIFFOpenOptionsFree(options);
    if (!tiff) throw_output_error(file.target(), errno);
    return tiff;
}

void set_tags(TIFF* tiff, const Picture& picture, std::uint32_t rows_per_strip) {
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, std::uint32_t(picture.width));
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, std::uint32_t(picture.height));
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 32);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, rows_per_strip);
    if (!(picture.pixel_size_nm > 0)) return;
    const float pixels_per_cm = float(1e7 / picture.pixel_size_nm);
    TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
    TIFFSetField(tiff, TIFFTAG_XRESOLUTION, pixels_per_cm);
    TIFFSetField(tiff, TIFFTAG_YRESOLUTION, pixels_per_cm);
}

}  // namespace

void write_float_tiff(const fs::path& path, const Picture& picture) {
    const std::size_t pixels = std::size_t(std::max(picture.width, 0)) * std::size_t(std::max(picture.height, 0));
    if (pixels == 0 || picture.values.size() != pixels)
        throw OptionError(fmt::format("{}: a picture of {}x{} pixels has {} values", path.string(), picture.width,
                                      picture.height, picture.values.size()));
    AtomicFile file(path);
    const bool big = pixels * sizeof(float) > (std::size_t(4) << 30) - (1 << 20);
    const Tiff tiff = open_silently(file, big ? "w8" : "w");
    // One strip, which some readers assume, while a classic TIFF can hold it.
    const int rows = big ? 64 : picture.height;
    set_tags(tiff.get(), picture, std::uint32_t(rows));
    for (int y = 0; y < picture.height; y += rows) {
        const std::size_t values = std::size_t(std::min(rows, picture.height - y)) * std::size_t(picture.width);
        float* const first = const_cast<float*>(picture.values.data()) + std::size_t(y) * std::size_t(picture.width);
        if (TIFFWriteEncodedStrip(tiff.get(), std::uint32_t(y / rows), first, tmsize_t(values * sizeof(float))) < 0)
            throw_output_error(path, errno);
    }
    if (!TIFFWriteDirectory(tiff.get())) throw_output_error(path, errno);
    file.commit();
}

}  // namespace glint
