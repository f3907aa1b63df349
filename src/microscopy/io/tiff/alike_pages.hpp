// Pages that say what the one before them says, but for where their pixels are: most of a movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "io/tiff/page.hpp"
#include "io/tiff/raw_directory.hpp"

namespace glint {

/// Reads equal pages one after the other, in a fraction of the time that libtiff needs for a directory. Each page
/// must lie after the one before it, which excludes circles.
class AlikePages {
  public:
    /// Continues after `page`, which libtiff has read. There are no such pages after one whose pixels are not in
    /// one uncompressed strip.
    AlikePages(TiffHandle& tiff, const TiffPage& page, std::uint64_t file_bytes);
    /// Returns the next page; nullopt if it differs, or there is none.
    std::optional<TiffPage> next();
    const TiffPage& last() const { return page_; }
    bool at_end() const { return whole_ && directory_.next() == 0; }  ///< no page of any kind is behind the last
    std::uint64_t directory_bytes() const { return directory_.count() * directory_.entry_bytes(); }

  private:
    std::optional<std::uint64_t> pixels_of(const RawDirectory& other) const;

    TiffPage page_;
    RawDirectory directory_, other_;
    std::uint64_t file_bytes_;
    bool whole_ = false;
    std::size_t pixels_ = 0;  // the entry that says where these are
};

}  // namespace glint
