// The OME-XML of a TIFF file: facts about its movie, and about the other files of its set.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

/// A file that holds planes of the movie.
struct OmeFile {
    std::string name, uuid;
    std::set<std::int64_t> channels;  ///< whose planes it contains; -1: of any channel

    bool shares_a_channel_with(const std::set<std::int64_t>& others) const;
};

/// A <TiffData>: the planes of an image from (t, z, c) on, in its DimensionOrder, are the pages from `ifd` on.
struct OmeTiffData {
    std::int64_t file = -1;  ///< of OmeMovie::files; -1: the file itself
    std::int64_t ifd = -1;   ///< page, not counting thumbnails and masks; -1: after those of the previous element
    std::int64_t t = 0, z = 0, c = 0;
    std::int64_t planes = 0;  ///< 0: all remaining planes
};

/// The sizes of an image, and the positions of its planes.
struct OmeImage {
    double times = 0, slices = 0, channels = 0;  ///< SizeT, SizeZ, SizeC; 0: unknown
    std::vector<OmeTiffData> placed;             ///< empty if not given
};

/// If a text has several images (positions), only those with planes in this file count.
struct OmeMovie {
    double times = 0, slices = 0, channels = 0;  ///< the largest of the images
    std::vector<OmeImage> images;
    std::vector<std::string> channel_names;  ///< empty if a channel has no name
    /// files that the text names, in the order of their first mention; empty: only this file
    std::vector<OmeFile> files;
    std::optional<double> exposure_ms;  ///< of the planes that have one
    bool exposures_differ = false;
    std::string order;                          ///< DimensionOrder, the fastest first
    std::int64_t width_px = 0, height_px = 0;   ///< of a plane; 0: unknown
    std::optional<double> width_nm, height_nm;  ///< of a pixel
    std::string metadata_file;                  ///< the text only refers to this file, which contains the metadata
    std::string uuid;                           ///< of the file that holds the text
    bool has_unsaid_channels = false;           ///< planes of more channels than SizeC are placed, as of two cameras

    bool holds_one_channel(const std::string& file_name) const;
};

/// Parses the text of the file `file_name`, which need not be well-formed. `uuid` is the file's if another file
/// holds the text.
OmeMovie parse_ome_xml(std::string_view xml, const std::string& file_name, std::string uuid = {});

}  // namespace glint
