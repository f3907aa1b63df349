// Float TIFF pictures with their scale, as ImageJ and tifffile read them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <memory>

#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

struct CloseTiff {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using Tiff = std::unique_ptr<TIFF, CloseTiff>;

/// libtiff writes through these functions, which report no failure, because TIFFClose could not return it.
/// `AtomicFile::commit` reports it.
struct TiffStream {
    AtomicFile& file;
    std::uint64_t at = 0;
};

tmsize_t read(thandle_t handle, void* bytes, tmsize_t count) {
    TiffStream& stream = *static_cast<TiffStream*>(handle);
    const std::size_t got = stream.file.read_at(stream.at, bytes, std::size_t(count));
    stream.at += got;
    return tmsize_t(got);
}

tmsize_t write(thandle_t handle, void* bytes, tmsize_t count) {
    TiffStream& stream = *static_cast<TiffStream*>(handle);
    stream.file.write_at(stream.at, bytes, std::size_t(count));
    stream.at += std::uint64_t(count);
    return count;
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
    TiffStream& stream = *static_cast<TiffStream*>(handle);
    const std::uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? stream.at : stream.file.size();
    return stream.at = base + offset;
}

toff_t size(thandle_t handle) { return static_cast<TiffStream*>(handle)->file.size(); }
int close(thandle_t) { return 0; }

/// Opens the stream without libtiff's messages: the library never prints.
Tiff open_silently(TiffStream& stream, const char* mode) {
    const auto silent = [](TIFF*, void*, const char*, const char*, va_list) { return 1; };
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options, silent, nullptr);
    TIFFOpenOptionsSetWarningHandlerExtR(options, silent, nullptr);
    Tiff tiff(TIFFClientOpenExt(stream.file.target().c_str(), mode, &stream, read, write, seek, close, size, nullptr,
                                nullptr, options));
    TIFFOpenOptionsFree(options);
    if (!tiff) throw_output_error(stream.file.target(), 0);
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

void write_float_tiff(const fs::path& path, const Picture& picture, IfExists if_exists) {
    const std::size_t pixels = std::size_t(std::max(picture.width, 0)) * std::size_t(std::max(picture.height, 0));
    if (pixels == 0 || picture.values.size() != pixels)
        throw OptionError(fmt::format("{}: a picture of {}x{} pixels has {} values", path.string(), picture.width,
                                      picture.height, picture.values.size()));
    AtomicFile file(path, if_exists);
    TiffStream stream{file};
    const bool big = pixels * sizeof(float) > (std::size_t(4) << 30) - (1 << 20);
    Tiff tiff = open_silently(stream, big ? "w8" : "w");
    // One strip, as some readers expect, unless it is too large for a classic TIFF.
    const int rows = big ? 64 : picture.height;
    set_tags(tiff.get(), picture, std::uint32_t(rows));
    for (int y = 0; y < picture.height; y += rows) {
        const std::size_t values = std::size_t(std::min(rows, picture.height - y)) * std::size_t(picture.width);
        float* const first = const_cast<float*>(picture.values.data()) + std::size_t(y) * std::size_t(picture.width);
        if (TIFFWriteEncodedStrip(tiff.get(), std::uint32_t(y / rows), first, tmsize_t(values * sizeof(float))) < 0)
            throw_output_error(path, 0);
        file.check();
    }
    if (!TIFFWriteDirectory(tiff.get())) throw_output_error(path, 0);
    tiff.reset();  // flushes what libtiff has buffered
    file.commit();
}

}  // namespace glint
