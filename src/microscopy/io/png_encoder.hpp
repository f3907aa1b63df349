// Encodes PNG pictures by all cores.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/picture.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {

/// Writes an 8-bit RGB PNG whose bytes do not depend on the number of threads. Throws OutputError.
void encode_png(AtomicFile& file, const RgbPicture& picture);

}  // namespace glint
