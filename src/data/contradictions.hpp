// Movies that become one, and whose metadata say different values of the camera: then none is known, and a warning says why.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "glint/movie.hpp"

namespace glint {

/// Of pixel size, offset, gain and EM gain those that both movies' metadata say, and that differ by more than 0.1 %, each with a clause that names
/// values and files.
using Contradictions = std::map<std::string, std::string>;
Contradictions contradictions(const MovieInfo& first, const std::string& first_name, const MovieInfo& other,
                              const std::string& other_name);

/// Such values of the joined movie are not known from here on, as its warnings say.
void add_contradictions(MovieInfo& joined, const Contradictions& found);

/// The clause, where the movie's warnings have one of `value` ("pixel size"); else empty.
std::string contradiction_of(const MovieInfo& movie, const std::string& value);

}  // namespace glint
