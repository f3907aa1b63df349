// HDF5's access to the bytes of files that glint only reads.
// SPDX-License-Identifier: MIT
#pragma once

#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Access properties for H5Fopen: reads go straight to the file and only inside it, through a driver of our own.
/// HDF5 1.10's usual drivers keep a cache of neighbouring metadata, which on damaged files reads through a null
/// pointer.
Handle reading_access();

}  // namespace glint::hdf5
