// Reads and writes movies, and reads ROI stacks (docs/reference/formats.md).
//
//     const auto movie = glint::open_joined_movie({"part1.tif", "part2.tif"});
//     for (const std::string& warning : movie->info().warnings) std::puts(warning.c_str());
//     glint::FrameBlock block;
//     movie->read(0, 10, block);
//     glint::TiffMovieWriter writer("first_frames.tif", movie->info());
//     writer.append(block);
//     writer.close();
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
/// (glint/movie_formats.hpp). formats.md lists the supported features of each format.
///
/// Joins MicroManager/NDTiff continuation files (`_1`, `_2`) beside a TIFF. A file of an OME-TIFF set opens the whole
/// set. For a truncated file, the movie has its complete frames and a warning in MovieInfo::warnings.
///
/// Returns the movie; frames are read on demand. Throws InputError for
/// - a missing file, or a file that is no movie,
/// - zero frames, frames of different sizes, or colour images,
/// - missing files of a set, and
/// - headers that claim more than the file contains.
///
/// Throws OptionError if the file has several channels, z planes or positions, and `choice` is empty or names one that
/// does not exist.
std::unique_ptr<Movie> open_movie(const std::filesystem::path& path, const MovieChoice& choice = {});

/// Returns one movie that joins several files; frame numbers continue. A file that already belongs to another file of
/// the list, as a continuation or part of the same OME-TIFF set, is read once. Only a few files are open
/// simultaneously. Throws as open_movie(), and OptionError for a file that is given twice.
std::unique_ptr<Movie> open_joined_movie(const std::vector<std::filesystem::path>& paths,
                                         const MovieChoice& choice = {});

/// Opens files of any format that another program is writing. Waits for the first frame, at most `wait_s` and until
/// `stop`. Files are reopened repeatedly, and a frame counts after two scans have found it complete.
///
/// Returns the growing movie. Throws as open_joined_movie(), also if there is no frame after the wait.
std::unique_ptr<GrowingMovie> open_growing_movie(const std::vector<std::filesystem::path>& paths,
                                                 const MovieChoice& choice, double wait_s,
                                                 const StopFlag* stop = nullptr);

/// Returns a movie of a pipe: frames without a header or gaps, in native byte order. Does not own or close
/// `descriptor`. read_to() can read each frame once. read() can read the first 64 frames, and frames that read_to() has
/// not read yet. Keeps at most 256 MB in memory, or two frames if these are larger.
std::unique_ptr<GrowingMovie> pipe_movie(int descriptor, int width, int height, PixelType type);

/// Writes a movie as TIFF, with one uncompressed strip per page; as BigTIFF if it may exceed 4 GiB. The file appears
/// under its name when close() returns. Without close(), the destructor leaves no file. All members throw OutputError
/// if the file cannot be written, and OptionError for frames of another size or type.
class TiffMovieWriter {
  public:
    /// `info`: width, height, type, frames (for the choice of BigTIFF) and, if known, the pixel size.
    TiffMovieWriter(const std::filesystem::path& path, const MovieInfo& info, IfExists if_exists = IfExists::replace);
    ~TiffMovieWriter();
    void append(const FrameBlock& block);
    void close();
    /// Also writes the movie's ground truth, as write_truth(). Either both files appear or none.
    void close_with_truth(const std::filesystem::path& truth_path, const Localizations& truth);

  private:
    void finish();
    struct State;
    std::unique_ptr<State> state_;
};

/// Reads a stack of n ROIs of S x S pixels. The formats are
/// - `.npy`: (n, S, S) of uint8, uint16, int16, int32, float32 or float64,
/// - TIFF: one page per ROI, and
/// - HDF5: dataset `rois` or `data` of (n, S, S); optional `x_corner`, `y_corner`, `frame`, from 0.
///
/// Returns the ROIs in photoelectrons, converted by `camera`. Throws InputError if the file cannot be read or is not a
/// stack of squares of 3 to 31 pixels, and OptionError if the camera has maps and the stack no corners.
Rois read_rois(const std::filesystem::path& path, const Camera& camera);

}  // namespace glint
