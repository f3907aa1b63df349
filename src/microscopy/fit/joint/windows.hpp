// The pixels of a group, cut from the windows of its spots, with the light of other groups as known; and the input from
// which a GPU cuts them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "glint/rois.hpp"

namespace glint {

/// Around some windows of one frame.
Rectangle rectangle_of(const Rois& rois, std::span<const std::size_t> windows);
/// The pixels of some windows of one frame, as docs/explanation/theory.md, eq. 2.2 has them. None is searched yet.
JointPixels joint_pixels(const Rois& rois, std::span<const std::size_t> windows);
/// Has molecules looked for in these windows.
void search_in(const Rois& rois, std::span<const std::size_t> windows, JointPixels& pixels);

/// Whether the known signal has changed by so much that it could move a parameter by a tenth of its standard error: the
/// sum of squares of the changes, in standard deviations of the pixels, bounds that of all parameters.
bool known_matters(const JointPixels& pixels, std::span<const float> before);

/// A group whose pixels are not cut yet. Borrowed.
struct JointCut {
    const Rois *pixels, *searched;  ///< windows of the same spots: what is fitted, and where molecules are looked for
    std::span<const std::size_t> windows;
    Rectangle rectangle;  ///< around the windows of `pixels`
    std::span<const JointLight> light;
    /// For a group that was fitted before: the known light of that fit. It is fitted again only if the change matters.
    std::span<const JointLight> earlier;
    bool again;
    bool search;  ///< for molecules beside those of the fit
    JointFit* fit;
};

/// Cuts the pixels; nothing in them where the group needs no second fit.
JointPixels cut(const JointCut& group, JointFitter& fitter);

}  // namespace glint
