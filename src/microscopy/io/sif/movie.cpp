// SIF movies of Andor Solis: a header of text lines with single bytes between them, then float32 frames.
// SPDX-License-Identifier: MIT
#include "glint/error.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/sif/header.hpp"

namespace glint {
namespace {

bool is_sif(const InputFile& file, const std::filesystem::path&) { return begins_with(file, sif::magic); }

std::unique_ptr<Movie> open_sif(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const sif::Header header = sif::read_header(InputFile(path));
    PlainFrames frames;
    frames.stored = StoredPixel::float32;
    frames.first_byte = header.first_byte;
    frames.info.width = header.width, frames.info.height = header.height;
    frames.info.frames = header.frames;
    sif::take_acquisition(header, path.filename().string(), frames.info);
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat sif_movies{
    {"SIF", "Andor Solis", ".sif", "several sub-images (tracks); the background and the reference beside the signal"},
    is_sif,
    open_sif};

}  // namespace glint
