// Joins movies to one, with warnings for the whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"

namespace glint {

/// As the public `concatenate`; `warnings` come first in MovieInfo::warnings.
std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies, std::vector<std::string> warnings);

}  // namespace glint
