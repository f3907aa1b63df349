// Which of a file's planes are the frames of the movie, if it has several channels, z planes or positions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "glint/movie_choice.hpp"

namespace glint {

enum class Dimension { time, z, channel, position };

/// A dimension of the planes of a file. `names`: of channels or positions, if the file contains them.
struct Axis {
    Dimension dimension = Dimension::time;
    std::int64_t size = 1;
    std::vector<std::string> names;
};

/// The planes that are the movie's frames: frame k is plane first + k * step of the file. `described`: "channel 1
/// (GFP), z 3"; empty if the file contains no other planes.
struct Planes {
    std::int64_t first = 0, step = 1, frames = 0;
    std::string described;
};

/// Returns the chosen planes. `axes`: the slowest first, as planes follow each other in the file. Frames are along
/// time, or along z if there is a single time and no choice of z. Throws OptionError that names `file`, with the
/// possible choices, if a choice is missing or does not exist.
Planes chosen_planes(const std::vector<Axis>& axes, const MovieChoice& choice, const std::string& file);

/// Returns the axes, or none if at most one axis has several planes: then those planes are the frames, whatever the
/// axis's name.
std::vector<Axis> several(std::vector<Axis> axes);

/// Returns how many planes the axes have; 0 if there are more than a file can hold.
std::int64_t count_of(const std::vector<Axis>& axes);

/// Returns the chosen planes of `movie`, as many as it has. MovieInfo names the choice.
std::unique_ptr<Movie> picked(std::unique_ptr<Movie> movie, const Planes& planes);

/// Like picked() above, for arbitrary positions: frame k is frame pages[k] of `movie`.
std::unique_ptr<Movie> picked(std::unique_ptr<Movie> movie, std::vector<std::int64_t> pages, std::string described,
                              std::vector<std::string> warnings);

/// A plane with a position along each dimension, as in a folder of files. Positions may be any numbers and names. Names
/// are in natural order (natural_less), so that A2 is before A10.
struct PlaneAt {
    std::int64_t time = 0, z = 0;
    std::string position, channel;
};

/// The chosen planes in order of time, as indices in `planes`. Throws as chosen_planes() does, and InputError if two
/// planes have the same position. Warns if a time is missing.
struct PlanesAt {
    std::vector<std::size_t> indices;
    std::string described;
    std::vector<std::string> warnings;
};
PlanesAt chosen_planes(const std::vector<PlaneAt>& planes, const MovieChoice& choice, const std::string& file);

/// For formats whose planes have neither channels, z nor positions. Throws OptionError if one beyond the first is
/// requested.
void require_single_planes(const MovieChoice& choice, const std::string& file);

}  // namespace glint
