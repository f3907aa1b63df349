// Where each frame of a TIFF movie lies, found once when the movie is opened.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"
#include "io/planes.hpp"
#include "io/tiff/ome_xml.hpp"
#include "io/tiff/page.hpp"

namespace glint {

struct TiffIndex {
    struct PagePosition {
        std::uint64_t data_offset = 0;       ///< of the frame's first pixel if it is plain, else 0
        std::uint64_t directory_offset = 0;  ///< of the page's directory
    };
    MovieInfo info;
    StoredPixel stored = StoredPixel::uint16;
    bool truncated = false;            ///< frames are lost; a warning says which, or TiffProgress::unlike why
    OmeMovie ome;                      ///< what its OME metadata say
    std::vector<Axis> axes;            ///< of the movie's planes (TiffMetadata)
    bool swapped = false;              ///< plain frames have the other byte order
    std::vector<PagePosition> places;  ///< one per frame; a single one for a stack without further directories

    /// PagePosition of a frame. Frames of a stack with one directory follow each other without gaps.
    PagePosition place(std::int64_t frame) const;
};

/// Where a walk over directories stands: behind a frame's page that is whole, as are all before it.
struct TiffStand {
    TiffPage page;                  ///< that page
    std::int64_t pages = 0;         ///< up to it, thumbnails too
    std::int64_t frames = 0;        ///< among them
    std::uint64_t index_bytes = 0;  ///< of their directories and lists of strips
};

/// What earlier looks at a file that grows have found, so that the next one reads new pages alone.
struct TiffProgress {
    FileId file;
    TiffPage first;                               ///< the first frame's page
    std::vector<TiffIndex::PagePosition> places;  ///< of the frames that were whole at the last look
    TiffStand twice;  ///< the last frame that was whole at two looks: the next goes on there, unless it has no frames
    std::string unlike = {};  ///< why a page is no frame like the first: those before it are the movie so far
    bool from_first = false;  ///< the next look walks all directories, whatever is known
    bool changed = false;     ///< frames that were whole twice have gone or moved, or the file is another one
};

/// Walks the directories once, O(pages); with `earlier`, which is brought up to date, those that were not whole at two looks yet, where
/// the others are as they were: the file is the same, its first page and the last one known say what they said, and each
/// directory stands behind the one before it, as it does in a file that grows. Else all of them. A page counts as known after
/// two looks, because some programs write a page's directory before they know all that it says.
/// Throws InputError when no frame is usable or the pages are no movie; with `earlier`, the frames before a page of another size
/// or type are indexed, and it says why the movie cannot go on.
TiffIndex index_tiff(const InputFile& file, TiffProgress* earlier = nullptr);

}  // namespace glint
