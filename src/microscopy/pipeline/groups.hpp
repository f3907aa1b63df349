// Fits the molecules of overlapping windows together.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fit/joint/windows.hpp"
#include "glint/fits.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"
#include "glint/rois.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Reorders windows of one frame so that each group is contiguous, and returns the groups. Windows that share pixels,
/// directly or through others, form a group. Windows of a group are in increasing order.
std::vector<std::span<std::size_t>> groups_of(const Rois& rois, std::span<std::size_t> windows);

/// Returns the distance from its centre up to which a molecule's light counts, px.
double light_reach_px(const PsfInDouble& psf, const Emitter& emitter);
bool light_reaches(const PsfInDouble& psf, const Emitter& emitter, const Rectangle& pixels);

/// If shapes are fitted, a group with at least this many molecules takes a GPU's team so long that the whole launch
/// waits for it. Such groups are left to the CPU.
constexpr std::size_t many_molecules = 6;

/// Cuts the pixels of all given groups and fits them in one launch, as JointFitter::run does.
using FindOnGpu = std::function<void(std::span<const JointCut>)>;

/// Replaces fits by joint fits of all molecules found there (theory.md, section 10), for windows that share pixels and
/// for lone windows that one molecule does not explain.
/// - `rois`: the windows of the fits, ordered by frame, with corners.
/// - `wide`: larger windows of the same spots, whose pixels are fitted. They agree where they overlap.
/// - `fits`: before the call, row k belongs to window k. Afterwards rows are ordered by window; a molecule belongs to
///   the window whose centre is nearest.
///
/// Runs on the calling thread, or by `on_gpu`. Returns the number of molecules in each row's group; 0 if its fit is
/// unchanged. Throws Cancelled a second after `stop`, which may be null, is set.
std::vector<std::uint32_t> fit_groups(const Rois& rois, const Rois& wide, const Psf& psf, double pixel_size_nm,
                                      const JointOptions& options, const StopFlag* stop, const FindOnGpu& on_gpu,
                                      Fits& fits);

}  // namespace glint
