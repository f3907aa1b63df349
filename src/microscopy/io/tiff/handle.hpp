// libtiff's handle: closed by its owner, silent, with libtiff's messages kept for glint's errors.
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

/// A file that is truncated or damaged before the end of its first frame. It may still be written.
class BrokenTiff : public InputError {
  public:
    using InputError::InputError;
};

/// The file that libtiff reads through a handle.
struct TiffSource {
    const InputFile& file;
    NearReads reads{file};
    std::uint64_t at = 0;                ///< of the next read
    std::array<std::byte, 16> header{};  ///< replaces the file's first bytes
    std::size_t header_bytes = 0;
    std::string complaint = {};  ///< the first error
};

/// An open TIFF, valid as long as its file is. libtiff prints nothing: `take_complaint` returns the first error since
/// the last call.
class TiffHandle {
  public:
    /// Begins at the page whose directory is at `first_directory` (0: the file's first one), as if it were the first
    /// directory, so that libtiff does not walk all directories before it. Throws BrokenTiff with libtiff's reason if
    /// the directory cannot be read.
    explicit TiffHandle(const InputFile& file, std::uint64_t first_directory = 0);
    ~TiffHandle();
    TiffHandle(const TiffHandle&) = delete;  // libtiff holds a pointer to `source_`
    TiffHandle& operator=(const TiffHandle&) = delete;

    TIFF* get() const { return tiff_; }
    /// Reads the file's own bytes, as InputFile::read_at does.
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) {
        return source_.reads.read_at(offset, out, n);
    }
    std::string take_complaint() { return std::exchange(source_.complaint, {}); }
    /// Returns the value of a tag that has one value, or `otherwise` if the page lacks the tag.
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
