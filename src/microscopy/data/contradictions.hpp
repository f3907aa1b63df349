// Movies that become one, and whose metadata say different values of the camera: then none is known, and a warning says why.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/movie.hpp"

namespace glint {

/// The values that both movies' metadata say, and that differ by more than 0.1 %.
Contradictions contradictions(const MovieInfo& first, const std::string& first_name, const MovieInfo& other,
                              const std::string& other_name);

/// Such values of the joined movie are not known from here on, as its warnings say.
void add_contradictions(MovieInfo& joined, const Contradictions& found);

/// Nor are those of a part that is itself of several files. The part's warnings say so, and are not added here.
void add_contradictions_within(const MovieInfo& part, MovieInfo& joined);

}  // namespace glint
