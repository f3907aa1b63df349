// What texts of variable length claim, looked at before HDF5 believes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "io/hdf5_file.hpp"

namespace glint::hdf5 {

/// Whether a text of variable length, the scalar dataset `object` or its attribute `attribute` (null: the dataset itself),
/// is as long as it claims, and that is a length a text may have. HDF5 1.10 takes twice the memory that is claimed, and
/// then copies whatever length the heap of texts says. True also for what is stored in rarer ways, which are not looked at.
bool is_honest_text(hid_t object, const char* attribute);

}  // namespace glint::hdf5
