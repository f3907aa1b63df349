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
    /// the last frame that was complete in two scans: the next scan continues there, unless it has no frames
    TiffStand twice;
    std::string unlike = {};  ///< why a page is no frame like the first: the pages before it are the movie so far
    bool from_first = false;  ///< the next scan walks all directories, whatever is known
    bool changed = false;     ///< frames that were complete twice have gone or moved, or the file is another one
};

/// Walks the directories once, O(pages).
///
/// With `earlier`, which is updated, walks only the directories that were not complete in two scans, if the others
/// are unchanged:
/// - the file is the same,
/// - its first page and the last known one are unchanged, and
/// - each directory lies after the one before it, as in a growing file.
/// Otherwise walks all of them. A page counts as known after two scans, because some programs write a page's
/// directory before they know all that it says.
///
/// Throws InputError if no frame is usable or the pages are no movie. With `earlier`, indexes the frames before a
/// page of another size or type, and `unlike` says why the movie cannot continue.
TiffIndex index_tiff(const InputFile& file, TiffProgress* earlier = nullptr);

}  // namespace glint
