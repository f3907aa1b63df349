// The position of each frame of a TIFF movie, determined once when the movie is opened.
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
    bool truncated = false;  ///< frames are lost; a warning lists them, or TiffProgress::unlike gives the reason
    OmeMovie ome;            ///< from its OME metadata
    std::vector<Axis> axes;  ///< of the movie's planes (TiffMetadata)
    bool swapped = false;    ///< plain frames have the other byte order
    std::vector<PagePosition> places;  ///< one per frame; a single one for a stack without further directories

    /// Returns the position of a frame. Frames of a stack with one directory follow each other without gaps.
    PagePosition place(std::int64_t frame) const;
};

/// The position of a walk over directories: after a frame's complete page, with all earlier pages complete.
struct TiffStand {
    TiffPage page;                  ///< that page
    std::int64_t pages = 0;         ///< pages up to it, including thumbnails
    std::int64_t frames = 0;        ///< among them
    std::uint64_t index_bytes = 0;  ///< of their directories and lists of strips
};

/// Results of earlier scans of a growing file, so that the next scan reads only new pages.
struct TiffProgress {
    FileId file;
    TiffPage first;                               ///< the first frame's page
    std::vector<TiffIndex::PagePosition> places;  ///< of the frames that were complete in the last scan
    /// the last frame that was complete in two scans: the next scan continues there, unless it has no frames
    TiffStand twice;
    std::string unlike = {};  ///< why a page is not a frame like the first: the pages before it are the movie so far
    bool from_first = false;  ///< the next scan walks all directories, whatever is known
    bool changed = false;     ///< frames that were complete twice are gone or have moved, or the file is another one
};

/// Walks the directories once, O(pages).
///
/// With `earlier`, which is updated, walks only the directories that were not complete in two scans, if all other
/// directories are unchanged:
/// - the file is the same,
/// - its first page and the last known one are unchanged, and
/// - each directory lies after the one before it, as in a growing file.
/// Otherwise walks all directories. A page counts as known after two scans, because some programs write a page's
/// directory before its contents are final.
///
/// Throws InputError if no frame is usable or the pages are no movie. With `earlier`, indexes the frames before a page
/// of another size or type, and sets `unlike` to the reason why the movie cannot continue.
TiffIndex index_tiff(const InputFile& file, TiffProgress* earlier = nullptr);

}  // namespace glint
