// Pictures as NumPy arrays.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include "glint/picture.hpp"

namespace glint::python {

/// An array (height, width, 3) of uint8 over the picture's memory, and its pixel size in nm.
nanobind::tuple array_of(RgbPicture&& picture);

}  // namespace glint::python
