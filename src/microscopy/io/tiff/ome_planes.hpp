// Which page of which file contains each plane of an OME-TIFF, from its <TiffData> elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/planes.hpp"
#include "io/tiff/ome_xml.hpp"

namespace glint {

/// Returns all dimensions, the slowest first: images (positions), then DimensionOrder, which names the fastest
/// first. Empty if the sizes or the order are not stated.
std::vector<Axis> ome_axes(const OmeMovie& ome);

/// Page `page` of the file `file` (of OmeMovie::files, or -1) holds plane `plane`, counted along ome_axes().
struct OmePage {
    std::int64_t plane = 0, file = 0, page = 0;
};

struct OmePages {
    std::vector<OmePage> pages;  ///< by plane
    /// "page 3 of a.tif is two planes": the assignment is then unknown; empty if there is none
    std::string contradiction;
};

/// `counts`: the number of pages of each of OmeMovie::files, 0 if a file was not opened; then the number of pages of
/// file -1. Leaves out pages that a file does not have. O(pages).
OmePages pages_of(const OmeMovie& ome, const std::vector<std::int64_t>& counts);

}  // namespace glint
