// C++ objects in Python that several parts of the module create or use: fits, pictures, movies.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>

#include "glint/fit.hpp"
#include "glint/movie.hpp"
#include "glint/picture.hpp"

namespace glint::python {

/// Returns columns over the vectors of `fits`: theta0, crlb0, ..., log_likelihood, p_value, iterations, status.
nanobind::dict columns_of(Fits&& fits);
nanobind::dict dict_of(const FitInfo& info);

/// Returns an array (height, width, 3) of uint8 over the picture's memory, and its pixel size in nm.
nanobind::tuple array_of(RgbPicture&& picture);

/// A movie with one reader at a time: a thread that reads, directly or by localize(), holds the mutex. A thread must
/// not wait for the mutex with the GIL held.
struct SharedMovie {
    std::unique_ptr<Movie> movie;
    std::mutex mutex;
};

}  // namespace glint::python
