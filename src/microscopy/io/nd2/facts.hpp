// What the metadata of an ND2 file say about its movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/nd2/chunks.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint::nd2 {

struct Facts {
    int width = 0, height = 0;
    StoredPixel stored = StoredPixel::uint16;
    std::uint64_t row_bytes = 0;
    int components = 1;  ///< values at each pixel: the channels
    bool is_compressed = false;
    std::int64_t sequences = 0;  ///< frames of all components, as acquired
    std::vector<Axis> axes;      ///< of the planes, channels last
    std::optional<double> pixel_size_nm, exposure_ms;
    std::string camera;
};

/// Throws InputError: metadata that are missing or damaged, colour images, lossy compression, loops that glint does not know.
Facts read_facts(const InputFile& file, const Chunks& chunks);

}  // namespace glint::nd2
