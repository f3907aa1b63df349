// Joins movies to one, with warnings for the whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/movie.hpp"

namespace glint {

/// Opens a movie once more, with the same frames.
using Reopen = std::function<std::unique_ptr<Movie>()>;

/// Movies that become one. If movies can be reopened, only the last few used stay open: thousands of files need
/// only a few descriptors.
class MovieParts {
  public:
    /// Throws InputError if it has another size or type than the earlier ones.
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
        std::int64_t first = 0, frames = 0;  ///< of the movie that they become
    };
    void close_oldest();

    std::vector<Part> parts_;
    std::vector<std::size_t> open_;  ///< those that can be closed, the one used last behind
    MovieInfo info_;
};

/// Frames [first, first + frames) of a movie that were a movie of this name.
struct JoinedPart {
    std::string name;
    std::int64_t first = 0, frames = 0;
};
/// Returns the parts; for a movie that was not joined, the movie itself.
std::vector<JoinedPart> parts_of(const Movie& movie);

/// As the public `concatenate`; `warnings` come first in MovieInfo::warnings.
std::unique_ptr<Movie> concatenate(MovieParts parts, std::vector<std::string> warnings = {});
std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies, std::vector<std::string> warnings);

/// Returns the camera values in the metadata of both movies that differ by more than 0.1 %. A joined movie has none
/// of these, and a warning says why.
Contradictions contradictions(const MovieInfo& first, const std::string& first_name, const MovieInfo& other,
                              const std::string& other_name);

/// Such values of the joined movie are not known from here on, as its warnings say.
void add_contradictions(MovieInfo& joined, const Contradictions& found);

/// Nor are those of a part that is itself of several files. The part's warnings say so, and are not added here.
void add_contradictions_within(const MovieInfo& part, MovieInfo& joined);

}  // namespace glint
