// The header of Andor's SIF files, and of the SIFX files beside spooled frames.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"

namespace glint::sif {

inline constexpr std::string_view magic = "Andor Technology Multi-Channel File\n";

struct Header {
    std::int64_t frames = 0, pixels_of_frame = 0;
    int width = 0, height = 0;
    std::string values;  ///< the quantity of the pixels: "Counts"
    std::int64_t accumulations = 1;
    std::optional<double> exposure_s;  ///< of one accumulation
    std::string camera;
    std::uint64_t first_byte = 0;  ///< of the first frame
};

/// Throws InputError if the header is truncated, contradicts itself, or describes unsupported data.
Header read_header(const InputFile& file);

/// Sets exposure and camera, and adds warnings about sums of exposures and about values that are not counts.
void take_acquisition(const Header& header, const std::string& name, MovieInfo& info);

}  // namespace glint::sif
