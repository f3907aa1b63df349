// The pixels of a group, cut from the windows of its spots, with the light of other groups as a known signal. Also the
// input from which a GPU cuts them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "glint/rois.hpp"

namespace glint {

/// Returns the rectangle around some windows of one frame.
Rectangle rectangle_of(const Rois& rois, std::span<const std::size_t> windows);
/// Returns the pixels of some windows of one frame, as in docs/explanation/theory.md, eq. 2.2. None is marked for the
/// search yet.
JointPixels joint_pixels(const Rois& rois, std::span<const std::size_t> windows);
/// Marks the pixels of these windows for the search for molecules.
void search_in(const Rois& rois, std::span<const std::size_t> windows, JointPixels& pixels);

/// Returns true if the change of the known signal could move a parameter by a tenth of its standard error. The sum of
/// squares of the changes, in standard deviations of the pixels, is an upper bound for all parameters.
bool known_matters(const JointPixels& pixels, std::span<const float> before);

/// A group whose pixels are not cut yet. Borrowed.
struct JointCut {
    const Rois *pixels, *searched;  ///< windows of the same spots: pixels to fit, and pixels to search for molecules
    std::span<const std::size_t> windows;
    Rectangle rectangle;  ///< around the windows of `pixels`
    std::span<const JointLight> light;
    /// For a group that was fitted before: the known light of that fit. The group is fitted again only if the change
    /// matters.
    std::span<const JointLight> earlier;
    bool again;
    bool search;  ///< for further molecules
    JointFit* fit;
};

/// Returns the pixels of a group; empty if the group needs no second fit.
JointPixels cut(const JointCut& group, JointFitter& fitter);

}  // namespace glint
