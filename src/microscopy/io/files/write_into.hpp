// Writers that leave the commit to the caller, for outputs that are committed together (commit_together).
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/camera_io.hpp"
#include "glint/localization_io.hpp"
#include "glint/picture_io.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {

/// Like the public functions of these names, but without the commit. They throw the same errors.
void write_png(AtomicFile& file, const RgbPicture& picture);
void write_truth(AtomicFile& file, const Localizations& truth);
void write_astigmatic_curve(AtomicFile& file, const AstigmaticCurve& curve, const std::string& range_note);

}  // namespace glint
