// Where each frame of a TIFF movie lies, found once when the movie is opened.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"
#include "io/planes.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/ome_xml.hpp"

namespace glint {

struct TiffIndex {
    struct Place {
        std::uint64_t data_offset = 0;       ///< of the frame's first pixel if it is plain, else 0
        std::uint64_t directory_offset = 0;  ///< of the page's directory
    };
    MovieInfo info;
    bool truncated = false;     ///< frames are lost; a warning says which
    OmeMovie ome;               ///< what its OME metadata say
    std::vector<Axis> axes;     ///< of the movie's planes (TiffMetadata)
    bool swapped = false;       ///< plain frames have the other byte order
    std::vector<Place> places;  ///< one per frame; a single one for a stack without further directories

    /// Place of a frame. Frames of a stack with one directory follow each other without gaps.
    Place place(std::int64_t frame) const;
};

/// Walks the directories once, O(pages). Throws InputError when no frame is usable or the pages are no movie.
TiffIndex index_tiff(TiffHandle& tiff, const InputFile& file);

}  // namespace glint
