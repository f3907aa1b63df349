// Checks that unpacked chunks are as long as a dataset says.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "io/hdf5/file.hpp"

namespace glint::hdf5 {

/// Checks the first stored chunk: HDF5 1.10 unpacks a chunk, and then reads `chunk_bytes` however few there are.
/// True also where a filter other than shuffle, deflate and fletcher32 is used, or nothing is stored.
bool first_chunk_is_whole(hid_t dataset, hid_t properties, std::uint64_t chunk_bytes);

}  // namespace glint::hdf5
