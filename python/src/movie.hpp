// A movie that several Python threads may use.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>

#include "glint/movie.hpp"

namespace glint::python {

/// One reader at a time: a thread that reads, directly or by localize(), holds the mutex. It must not wait for it with
/// the GIL held.
struct SharedMovie {
    std::unique_ptr<Movie> movie;
    std::mutex mutex;
};

}  // namespace glint::python
