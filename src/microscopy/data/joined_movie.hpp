// Joins several movies to one, with warnings for the whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"

namespace glint {

/// Opens a movie again, with the same frames.
using Reopen = std::function<std::unique_ptr<Movie>()>;

/// Movies to be joined. If movies can be reopened, only the last few used stay open, so thousands of files need only a
/// few descriptors.
class MovieParts {
  public:
    /// Throws InputError if the movie has another size or type than the earlier ones.
    void add(std::unique_ptr<Movie> movie, Reopen reopen = {});
    void warn(std::string warning) {
        info_.warnings.push_back(std::move(warning));
    }  ///< behind those of the movies so far
    std::size_t size() const { return parts_.size(); }

  private:
    friend class JoinedMovie;
    struct Part {
        std::shared_ptr<Movie> movie;  ///< null while it is closed
        Reopen reopen;
        std::string name;
        std::int64_t first = 0, frames = 0;  ///< in the joined movie
    };
    void close_oldest();

    std::vector<Part> parts_;
    std::vector<std::size_t> open_;  ///< movies that can be closed, the most recently used last
    MovieInfo info_;
};

/// Frames [first, first + frames) of a joined movie, which come from the movie of this name.
struct JoinedPart {
    std::string name;
    std::int64_t first = 0, frames = 0;
};
/// Returns the parts of a joined movie; for any other movie, the movie itself.
std::vector<JoinedPart> parts_of(const Movie& movie);

/// Like the public `concatenate`; `warnings` come first in MovieInfo::warnings.
std::unique_ptr<Movie> concatenate(MovieParts parts, std::vector<std::string> warnings = {});
std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies, std::vector<std::string> warnings);

/// Returns the camera values that the metadata of both movies contain and that differ by more than 0.1 %. A joined
/// movie has none of these values, and a warning gives the reason.
Contradictions contradictions(const MovieInfo& first, const std::string& first_name, const MovieInfo& other,
                              const std::string& other_name);

/// Removes the contradictory values from the joined movie, and adds warnings about them.
void add_contradictions(MovieInfo& joined, const Contradictions& found);

/// Like add_contradictions(), for a part that itself consists of several files. The part's own warnings report the
/// contradictions, so this adds none.
void add_contradictions_within(const MovieInfo& part, MovieInfo& joined);

}  // namespace glint
