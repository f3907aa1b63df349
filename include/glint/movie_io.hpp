// Reads and writes movies, and reads ROI stacks (docs/reference/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/if_exists.hpp"
#include "glint/movie.hpp"
#include "glint/movie_choice.hpp"
#include "glint/progress.hpp"
#include "glint/rois.hpp"

namespace glint {

struct Localizations;

/// Opens a movie by its content, not its name: a file or a folder of one of movie_formats()
/// (glint/movie_formats.hpp). formats.md lists what is read of each format.
///
/// MicroManager/NDTiff continuation files (`_1`, `_2`) beside a TIFF are joined to it. A file of an OME-TIFF set
/// opens the whole set. A truncated file gives its complete frames and a warning in MovieInfo::warnings.
///
/// Throws InputError for
/// - a missing file, or one that is no movie,
/// - zero frames, frames of different sizes, or colour images,
/// - missing files of a set, and
/// - headers that claim more than the file contains.
/// Throws OptionError if the file has several channels, z planes or positions and `choice` names none, or one that
/// does not exist.
std::unique_ptr<Movie> open_movie(const std::filesystem::path& path, const MovieChoice& choice = {});

/// Joins several files to one movie; frame numbers continue. A file that is opened with another of the list, as a
/// continuation or part of the same OME-TIFF set, is read once. Only a few files are open simultaneously. Throws as
/// above; OptionError for a file that is given twice.
std::unique_ptr<Movie> open_joined_movie(const std::vector<std::filesystem::path>& paths,
                                         const MovieChoice& choice = {});

/// Opens files that another program is writing, of any format. They are reopened repeatedly, and frames count after
/// two scans have found them complete. Waits for the first frame: at most `wait_s`, and until `stop`; then throws
/// as open_joined_movie().
std::unique_ptr<GrowingMovie> open_growing_movie(const std::vector<std::filesystem::path>& paths,
                                                 const MovieChoice& choice, double wait_s,
                                                 const StopFlag* stop = nullptr);

/// Reads frames without a header or gaps, in native byte order, from a pipe's descriptor, which is not closed. Each
/// frame can be read once by read_to(). read() returns frames that were not read yet, and the first 64. At most 256
/// MB wait in memory, or two frames.
std::unique_ptr<GrowingMovie> pipe_movie(int descriptor, int width, int height, PixelType type);

/// Writes frames one after another, one uncompressed strip per page; BigTIFF if the movie may exceed 4 GiB. The file
/// appears under its name when `close` returns; a writer that is destroyed before leaves no file. Throws OutputError.
class TiffMovieWriter {
  public:
    /// `info` gives width, height, type, frames (for the choice of BigTIFF) and, if known, the pixel size.
    TiffMovieWriter(const std::filesystem::path& path, const MovieInfo& info, IfExists if_exists = IfExists::replace);
    ~TiffMovieWriter();
    void append(const FrameBlock& block);
    void close();
    /// Also writes the movie's ground truth, as `write_truth` does; either both files appear or none.
    void close_with_truth(const std::filesystem::path& truth_path, const Localizations& truth);

  private:
    void finish();
    struct State;
    std::unique_ptr<State> state_;
};

/// Reads a stack of ROIs: `.npy` (n, S, S; uint8, uint16, int16, int32, float32, float64), TIFF (one page per ROI), or
/// HDF5 (dataset `rois` or `data` of (n, S, S); optional `x_corner`, `y_corner`, `frame`, 0-based). `camera` converts
/// counts to photoelectrons; its maps apply only to stacks with corners. Throws InputError if the shape is not a stack
/// of squares of 3 to 31 pixels.
Rois read_rois(const std::filesystem::path& path, const Camera& camera);

}  // namespace glint
