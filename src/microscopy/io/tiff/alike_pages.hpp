// Pages that equal the previous page except for the position of their pixels, as most pages of a movie do.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "io/tiff/page.hpp"
#include "io/tiff/raw_directory.hpp"

namespace glint {

/// Reads equal pages one after another, in a fraction of the time that libtiff needs for a directory. Each page must be
/// after the previous one in the file, which prevents cycles.
class AlikePages {
  public:
    /// Continues after `page`, which libtiff has read. Finds no pages if the pixels of `page` are not in one
    /// uncompressed strip.
    AlikePages(TiffHandle& tiff, const TiffPage& page, std::uint64_t file_bytes);
    /// Returns the next page; nullopt if it differs, or there is none.
    std::optional<TiffPage> next();
    const TiffPage& last() const { return page_; }
    bool at_end() const { return whole_ && directory_.next() == 0; }  ///< no directory follows the last page
    std::uint64_t directory_bytes() const { return directory_.count() * directory_.entry_bytes(); }

  private:
    std::optional<std::uint64_t> pixels_of(const RawDirectory& other) const;

    TiffPage page_;
    RawDirectory directory_, other_;
    std::uint64_t file_bytes_;
    bool whole_ = false;
    std::size_t pixels_ = 0;  // the entry with their position
};

}  // namespace glint
