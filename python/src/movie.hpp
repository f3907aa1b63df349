// A movie that Python may use from any thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>

#include "glint/movie.hpp"

namespace glint::python {

/// One reader at a time: whoever reads, or has localize() read, holds the mutex. Not while holding Python's lock.
struct SharedMovie {
    std::unique_ptr<Movie> movie;
    std::mutex mutex;
};

}  // namespace glint::python
