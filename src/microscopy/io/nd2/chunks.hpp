// The chunks of an ND2 file, and the metadata of its movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/nd2/variant.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint::nd2 {

/// The position of a chunk's data.
struct Data {
    std::uint64_t begin = 0, bytes = 0;
};

struct Chunks {
    std::map<std::string, std::uint64_t> named;  ///< positions of metadata chunks, by name without the "!"
    std::vector<std::uint64_t> frames;  ///< positions of the chunks of pixels, by frame number; 0 if there is none
    bool recovered = false;             ///< the file has no map of chunks, so chunks were searched one after another
};

/// Reads the map at the file's end, else searches chunk by chunk. Throws InputError if the file is damaged or has no
/// chunk of pixels.
Chunks find_chunks(const InputFile& file);

/// Returns the data after a chunk's header, whose name must be `name`. Throws std::runtime_error with the bare reason
/// if the name differs, or if the chunk extends beyond the file's end.
Data data_of(const InputFile& file, std::uint64_t begin, const std::string& name);

/// Returns the values of a chunk of metadata; nullopt if the file lacks it. Throws InputError if they are damaged.
std::optional<Value> values_of(const InputFile& file, const Chunks& chunks, const std::string& name);

/// "ImageDataSeq|7"
std::string frame_name(std::int64_t number);

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

/// Throws InputError for missing or damaged metadata, colour images, lossy compression, and loops that glint does
/// not know.
Facts read_facts(const InputFile& file, const Chunks& chunks);

}  // namespace glint::nd2
