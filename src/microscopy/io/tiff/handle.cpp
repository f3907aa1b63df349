// Opens TIFF files through libtiff without messages on the terminal.
// SPDX-License-Identifier: MIT
#include "io/tiff/handle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "glint/error.hpp"
#include "io/byte_order.hpp"

namespace glint {
namespace {

// Maximum of one allocation for a movie's page: tiles and strips are smaller, and frames use glint's own memory.
constexpr tmsize_t largest_allocation_bytes = tmsize_t(1) << 30;

void keep_if_first(std::string& kept, const char* text) {
    if (kept.empty()) kept = text;
    while (!kept.empty() && (kept.back() == '.' || kept.back() == '\n')) kept.pop_back();
}

// Both return 1, "handled", so that libtiff does not call its global handlers, which print.
int keep_first(TIFF*, void* source, const char*, const char* format, va_list arguments) {
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    auto& of = *static_cast<TiffSource*>(source);
    const std::string name = of.file.name() + ": ";  // the error that reports the complaint names the file
    keep_if_first(of.complaint, std::string_view(text).starts_with(name) ? text + name.size() : text);
    return 1;
}

int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

// No exception may pass through libtiff, which is C.
tmsize_t read_source(thandle_t handle, void* to, tmsize_t n) {
    auto& source = *static_cast<TiffSource*>(handle);
    const auto bytes = static_cast<std::byte*>(to);
    try {
        const std::size_t got = source.reads.read_at(source.at, bytes, std::size_t(n));
        for (std::size_t k = 0; k < got && source.at + k < source.header_bytes; ++k)
            bytes[k] = source.header[std::size_t(source.at) + k];
        source.at += got;
        return tmsize_t(got);
    } catch (const InputError& error) {
        keep_if_first(source.complaint, error.what());
        return -1;
    }
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return -1; }

toff_t seek_source(thandle_t handle, toff_t offset, int whence) {
    auto& source = *static_cast<TiffSource*>(handle);
    const std::uint64_t from = whence == SEEK_CUR ? source.at : whence == SEEK_END ? source.file.size() : 0;
    return source.at = from + offset;
}

int close_nothing(thandle_t) { return 0; }

toff_t size_of_source(thandle_t handle) { return static_cast<TiffSource*>(handle)->file.size(); }

/// Sets the file's header, with `first_directory` as the position of the first directory.
void take_header(TiffSource& source, std::uint64_t first_directory) {
    std::byte* const header = source.header.data();
    const std::size_t found = source.reads.read_at(0, header, source.header.size());
    const bool big_endian = header[0] == std::byte{'M'}, big = header[big_endian ? 3 : 2] == std::byte{'+'};
    const std::size_t offset_at = big ? 8 : 4, offset_bytes = big ? 8 : 4;
    if (found < offset_at + offset_bytes) return;  // libtiff will report the problem
    const auto narrow = std::uint32_t(first_directory);
    std::memcpy(header + offset_at, big ? static_cast<const void*>(&first_directory) : &narrow, offset_bytes);
    if (big_endian == host_is_little_endian) swap_bytes(header + offset_at, offset_bytes, int(offset_bytes));
    source.header_bytes = offset_at + offset_bytes;
}

}  // namespace

TiffHandle::TiffHandle(const InputFile& file, std::uint64_t first_directory) : source_{.file = file} {
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                               TIFFOpenOptionsFree);
    if (!options) throw std::bad_alloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_first, &source_);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), largest_allocation_bytes);
    if (first_directory != 0) take_header(source_, first_directory);
    // m: no memory map, so a file that shrinks while it is read causes an error and not a bus error.
    // c: do not split one large strip into many small ones.
    tiff_ = TIFFClientOpenExt(file.name().c_str(), "rmc", &source_, read_source, write_nothing, seek_source,
                              close_nothing, size_of_source, nullptr, nullptr, options.get());
    if (!tiff_) throw BrokenTiff(fmt::format("{}: is no readable TIFF ({})", file.name(), take_complaint()));
}

TiffHandle::~TiffHandle() {
    if (tiff_) TIFFClose(tiff_);
}

}  // namespace glint
