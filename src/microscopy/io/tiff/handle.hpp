// libtiff's handle: closed by its owner, silent, its error messages kept for ours.
// SPDX-License-Identifier: MIT
#pragma once

#include <tiffio.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/tiff/near_reads.hpp"

namespace glint {

/// A file that breaks off, or is damaged, before its first frame: it may still be written.
class BrokenTiff : public InputError {
  public:
    using InputError::InputError;
};

/// What libtiff reads through a handle.
struct TiffSource {
    const InputFile& file;
    NearReads reads{file};
    std::uint64_t at = 0;                ///< of the next read
    std::array<std::byte, 16> header{};  ///< instead of the file's first bytes
    std::size_t header_bytes = 0;
    std::string complaint = {};  ///< the first error
};

/// A TIFF open for reading, as long as its file is. libtiff prints nothing: `take_complaint` returns the first
/// error since the last call.
class TiffHandle {
  public:
    /// Begins at the page whose directory is at `first_directory` (0: the file's first one), as if that were the
    /// file's first. libtiff would walk all directories before it. Throws BrokenTiff with libtiff's reason if that
    /// directory cannot be read.
    explicit TiffHandle(const InputFile& file, std::uint64_t first_directory = 0);
    ~TiffHandle();
    TiffHandle(const TiffHandle&) = delete;  // libtiff holds a pointer to `source_`
    TiffHandle& operator=(const TiffHandle&) = delete;

    TIFF* get() const { return tiff_; }
    /// The file's own bytes, as InputFile::read_at.
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) {
        return source_.reads.read_at(offset, out, n);
    }
    std::string take_complaint() { return std::exchange(source_.complaint, {}); }
    /// The value of a tag that has one value, or `otherwise` when the page lacks it.
    template <class T>
    T tag(std::uint32_t number, T otherwise) const {
        T value{};
        return TIFFGetFieldDefaulted(tiff_, number, &value) ? value : otherwise;
    }

  private:
    TiffSource source_;
    TIFF* tiff_ = nullptr;
};

}  // namespace glint
