// Movies and ROI stacks from and to files (docs/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/if_exists.hpp"
#include "glint/movie.hpp"
#include "glint/rois.hpp"

namespace glint {

struct Localizations;

/// Opens a movie by its content, not its name: TIFF (classic, BigTIFF, OME, ImageJ single-IFD stack, either byte
/// order, strips or tiles, uint8/uint16/float32, none/LZW/Deflate/PackBits), or Picasso .raw with its .yaml beside
/// it. MicroManager/NDTiff continuation files (`_1`, `_2`) that stand beside a TIFF and continue it are joined. A
/// truncated file gives its whole frames and a warning in MovieInfo::warnings, and so does a file of an OME-TIFF set whose
/// others cannot be found; where they can, one alone is refused. Throws InputError: no such file, no
/// movie, zero frames, frames of different sizes, colour images, headers that claim more than the file holds.
std::unique_ptr<Movie> open_movie(const std::filesystem::path& path);

/// Several files that are one movie, frames counted on. A file that continues another one of them is read once, after that.
/// Throws as above; OptionError for a file given twice.
std::unique_ptr<Movie> open_joined_movie(const std::vector<std::filesystem::path>& paths);

/// Writes frames as they come, one uncompressed strip per page; BigTIFF when the movie may pass 4 GiB.
/// The file appears under its name when `close` returns; a writer destroyed before leaves nothing.
class TiffMovieWriter {
  public:
    /// `info` gives width, height, type, frames (for the choice of BigTIFF) and, if known, the pixel size.
    TiffMovieWriter(const std::filesystem::path& path, const MovieInfo& info, IfExists if_exists = IfExists::replace);
    ~TiffMovieWriter();
    void append(const FrameBlock& block);
    void close();
    /// Writes the movie's ground truth too, as `write_truth` does; both appear under their names, or neither.
    void close_with_truth(const std::filesystem::path& truth_path, const Localizations& truth);

  private:
    void finish();
    struct State;
    std::unique_ptr<State> state_;
};

/// Reads a stack of ROIs: `.npy` (n, S, S; uint8, uint16, int16, int32, float32, float64), TIFF (a page a ROI), or
/// HDF5 (dataset `rois` or `data` of (n, S, S); optional `x_corner`, `y_corner`, `frame`, 0-based). Counts become
/// photoelectrons by `camera`: scalar values for any stack, maps only where corners say which pixel is which.
/// Throws InputError when the shape is not a stack of squares of 3 to 31 pixels.
Rois read_rois(const std::filesystem::path& path, const Camera& camera);

}  // namespace glint
