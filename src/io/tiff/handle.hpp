// libtiff's handle: closed by its owner, silent, its error messages kept for ours.
// SPDX-License-Identifier: MIT
#pragma once

#include <tiffio.h>

#include <filesystem>
#include <string>
#include <utility>

#include "glint/error.hpp"

namespace glint {

/// A file that breaks off, or is damaged, before its first frame: it may still be written.
class BrokenTiff : public InputError {
  public:
    using InputError::InputError;
};

/// A TIFF open for reading. libtiff prints nothing: `take_complaint` gives the first error since the last
/// call.
class TiffHandle {
  public:
    /// Throws BrokenTiff with libtiff's reason when the first directory cannot be read.
    explicit TiffHandle(const std::filesystem::path& path);
    ~TiffHandle();
    TiffHandle(const TiffHandle&) = delete;  // libtiff holds a pointer to `complaint_`
    TiffHandle& operator=(const TiffHandle&) = delete;

    TIFF* get() const { return tiff_; }
    std::string take_complaint() { return std::exchange(complaint_, {}); }
    /// The value of a tag that has one value, or `otherwise` when the page lacks it.
    template <class T>
    T tag(std::uint32_t number, T otherwise) const {
        T value{};
        return TIFFGetFieldDefaulted(tiff_, number, &value) ? value : otherwise;
    }

  private:
    std::string complaint_;
    TIFF* tiff_ = nullptr;
};

}  // namespace glint
