// The images that the XML of a LIF file describes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/plain_movie.hpp"

namespace glint::lif {

/// Leica's numbers of dimensions.
enum DimensionId {
    x = 1,
    y = 2,
    z = 3,
    time = 4,
    emission = 5,
    rotation = 6,
    slices_of_xt = 7,
    slices_of_time = 8,
    excitation = 9,
    mosaic = 10,
    loop = 11
};

struct Dimension {
    int id = 0;
    std::int64_t count = 1;
    std::uint64_t step = 0;  ///< bytes from one to the next
    double length_nm = 0;    ///< from the first to the last; 0: unknown
};

struct Channel {
    std::optional<StoredPixel> stored;  ///< nullopt: unknown type
    std::uint64_t offset = 0;           ///< bytes from the image's first
    std::string name;                   ///< of its colour
};

struct Image {
    std::string name;   ///< with the folders that contain it
    std::string block;  ///< that contains its pixels
    std::vector<Dimension> dimensions;
    std::vector<Channel> channels;
    std::optional<double> exposure_ms;  ///< of the channels, if they agree
    std::string camera;
};

struct Description {
    int version = 2;
    std::vector<Image> images;
};

/// Throws InputError, beginning with the name of the file, for more elements than any file has.
Description parse_description(std::string_view xml, const std::string& file);

}  // namespace glint::lif
