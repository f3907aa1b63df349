// Finds groups of windows that share pixels, and fits them frame by frame or in many frames simultaneously.
// SPDX-License-Identifier: MIT
#include "pipeline/groups.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <numeric>
#include <utility>

#include "glint/error.hpp"
#include "pipeline/frame_groups.hpp"
#include "pipeline/spot_grid.hpp"

namespace glint {
namespace {

/// Throws Cancelled a second after a stop. This lets quick frames finish; large groups with many parameters may take
/// far longer.
class Patience {
  public:
    explicit Patience(const StopFlag* stop) : stop_(stop) {}
    void look() {
        if (!stop_ || !stop_->load()) return;
        const auto now = std::chrono::steady_clock::now();
        if (!seen_) seen_ = true, at_ = now;
        if (now - at_ > std::chrono::seconds(1)) throw Cancelled("stopped within a block");
    }

  private:
    const StopFlag* stop_;
    bool seen_ = false;
    std::chrono::steady_clock::time_point at_{};
};

/// Moves the groups that are left to the CPU to the front. Returns their number.
std::size_t part_for_cpu(std::vector<JointCut>& cuts, int shapes) {
    const auto for_gpu = std::stable_partition(cuts.begin(), cuts.end(), [&](const JointCut& cut) {
        return shapes > 0 && cut.fit->emitters.size() >= many_molecules;
    });
    return std::size_t(for_gpu - cuts.begin());
}

void fit_on_cpu(std::span<const JointCut> cuts, JointFitter& fitter, Patience& patience) {
    for (const JointCut& group : cuts) {
        patience.look();
        if (const JointPixels pixels = cut(group, fitter); pixels.width > 0)
            fitter.run(pixels, group.search, *group.fit);
    }
}

}  // namespace

std::vector<std::span<std::size_t>> groups_of(const Rois& rois, std::span<std::size_t> windows) {
    std::vector<GridPoint> corners;
    corners.reserve(windows.size());
    for (const std::size_t k : windows) corners.push_back({double(rois.x_corner[k]), double(rois.y_corner[k])});
    std::vector<std::size_t> parent(windows.size());
    std::iota(parent.begin(), parent.end(), std::size_t(0));
    const auto root = [&](std::size_t k) {
        while (parent[k] != k) k = parent[k] = parent[parent[k]];
        return k;
    };
    const SpotGrid grid(corners, rois.size);
    for (std::size_t k = 0; k < corners.size(); ++k) {
        const double reach = rois.size;
        grid.visit({corners[k].x - reach, corners[k].y - reach}, {corners[k].x + reach, corners[k].y + reach},
                   [&](std::size_t other) {
                       if (other < k && std::abs(corners[k].x - corners[other].x) < reach &&
                           std::abs(corners[k].y - corners[other].y) < reach)
                           parent[std::max(root(k), root(other))] = std::min(root(k), root(other));
                   });
    }
    std::vector<std::pair<std::size_t, std::size_t>> by_root;  // (first window of the group, window)
    by_root.reserve(windows.size());
    for (std::size_t k = 0; k < windows.size(); ++k) by_root.emplace_back(root(k), windows[k]);
    std::sort(by_root.begin(), by_root.end());
    std::vector<std::span<std::size_t>> groups;
    groups.reserve(windows.size());
    for (std::size_t k = 0, first = 0; k < windows.size(); ++k) {
        windows[k] = by_root[k].second;
        if (k + 1 < windows.size() && by_root[k + 1].first == by_root[k].first) continue;
        groups.push_back(windows.subspan(first, k + 1 - first));
        first = k + 1;
    }
    return groups;
}

double light_reach_px(const PsfInDouble& psf, const Emitter& emitter) {
    if (const double reach = psf.reach_px(); reach > 0) return reach;
    const PsfWidths w = psf.widths(emitter.theta.data() + 4);
    return double(light_reach_widths) * std::max(w.x_px, w.y_px) + double(light_reach_more_px);
}

bool light_reaches(const PsfInDouble& psf, const Emitter& emitter, const Rectangle& pixels) {
    const double reach = light_reach_px(psf, emitter), x = emitter.theta[0] - pixels.left,
                 y = emitter.theta[1] - pixels.top;
    return x > -reach && x < pixels.width + reach && y > -reach && y < pixels.height + reach;
}

std::vector<std::uint32_t> fit_groups(const Rois& rois, const Rois& wide, const Psf& psf, double pixel_size_nm,
                                      const JointOptions& options, const StopFlag* stop, const FindOnGpu& on_gpu,
                                      Fits& fits) {
    const PsfInDouble in_double(psf, pixel_size_nm);
    JointFitter fitter(psf, pixel_size_nm, options);
    const GroupInput input{rois, wide, in_double, fitter, parameter_count(psf.model) - 4, fits};
    Fits out;
    out.resize(fits.model, 0);
    std::vector<std::uint32_t> sizes;
    Patience patience(stop);
    std::vector<FrameGroups> frames;
    std::vector<JointCut> cuts;
    // A GPU's teams need the groups of many frames in one launch; the CPU's caches work best with few.
    const std::size_t at_once = on_gpu ? std::size_t(1) << 16 : 1, windows = rois.frame.size();
    for (std::size_t begin = 0, end; begin < windows; begin = end) {
        int turns = 0;
        frames.clear();
        for (end = begin; end < windows && end - begin < at_once;) {
            const std::size_t first = end;
            while (end < windows && rois.frame[end] == rois.frame[first]) ++end;
            frames.emplace_back(input, first, end);
            turns = std::max(turns, frames.back().turns());
        }
        for (int pass = 0; pass < FrameGroups::passes; ++pass)
            for (int turn = 0; turn < turns; ++turn) {
                if (on_gpu) {
                    cuts.clear();
                    for (FrameGroups& frame : frames) frame.collect(pass, turn, cuts);
                    patience.look();
                    const std::span<const JointCut> all(cuts), large = all.first(part_for_cpu(cuts, input.shapes));
                    std::future<void> on_cpu;
                    if (!large.empty()) on_cpu = std::async([&] { fit_on_cpu(large, fitter, patience); });
                    if (large.size() < all.size()) on_gpu(all.subspan(large.size()));
                    if (on_cpu.valid()) on_cpu.get();
                } else {
                    for (FrameGroups& frame : frames) frame.find(pass, turn, [&] { patience.look(); });
                }
                for (FrameGroups& frame : frames) frame.settle(pass);
            }
        for (FrameGroups& frame : frames) frame.write(out, sizes);
    }
    fits = std::move(out);
    return sizes;
}

}  // namespace glint
