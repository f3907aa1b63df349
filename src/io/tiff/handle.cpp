// Opens TIFF files through libtiff without messages on the terminal.
// SPDX-License-Identifier: MIT
#include "io/tiff/handle.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"

namespace glint {
namespace {

// No part of a movie's page needs more at once: tiles and strips are smaller, frames go to our own memory.
constexpr tmsize_t largest_allocation_bytes = tmsize_t(1) << 30;

// Both return 1: "handled", so that libtiff does not go on to its global handlers, which print.
int keep_first(TIFF*, void* complaint, const char*, const char* format, va_list arguments) {
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    auto& kept = *static_cast<std::string*>(complaint);
    if (kept.empty()) kept = text;
    while (!kept.empty() && (kept.back() == '.' || kept.back() == '\n')) kept.pop_back();
    return 1;
}

int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

TiffHandle::TiffHandle(const std::filesystem::path& path) {
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                               TIFFOpenOptionsFree);
    if (!options) throw std::bad_alloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_first, &complaint_);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), largest_allocation_bytes);
    // m: no memory map, so a file that shrinks under us is an error and no bus error.
    // c: do not chop one large strip into many small ones.
    errno = 0;
    tiff_ = TIFFOpenExt(path.c_str(), "rmc", options.get());
    if (!tiff_) require_descriptors(path.string(), errno);
    if (!tiff_) throw BrokenTiff(fmt::format("{}: is no readable TIFF ({})", path.string(), take_complaint()));
    // Indexing jumps from directory to directory: reading ahead would fetch pixels that are not needed yet.
    (void)::posix_fadvise(TIFFFileno(tiff_), 0, 0, POSIX_FADV_RANDOM);
}

TiffHandle::~TiffHandle() {
    if (tiff_) TIFFClose(tiff_);
}

}  // namespace glint
