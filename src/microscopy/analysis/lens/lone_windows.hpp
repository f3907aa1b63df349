// Windows around a movie's lone spots.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/rois.hpp"

namespace glint::lens {

/// The windows with no other spot in or beside them.
struct LoneWindows {
    Rois rois;  ///< of one size
    std::int64_t frames = 0, spots = 0;
};

/// Reads frames from all over a part of the movie until there are enough lone spots, or no more frames. Windows are as
/// large as there are enough spots for, 25 px or less. Of many spots, the brighter half is taken; of spots at one
/// place, such as beads, only some. Spots with a pixel at `saturation_adu` or above, if that is not 0, do not count.
/// `sigma_px`: width of spots. `read_frame`: called after each frame with the frames
/// read so far; may throw to stop. The result does not depend on the number of threads.
LoneWindows find_lone_windows(Movie& movie, const CameraView& camera, const FrameRange& range, double sigma_px,
                              double saturation_adu, const std::function<void(std::int64_t)>& read_frame);

/// Keeps the middle of each ROI: a square of `size` px, which must be even or odd as the ROIs are.
void crop_rois(Rois& rois, int size);

/// Removes the ROIs for which `keeps` is false.
void keep_rois(Rois& rois, const std::function<bool(std::size_t)>& keeps);

}  // namespace glint::lens
