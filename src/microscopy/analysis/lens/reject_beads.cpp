// Chi-squared and motion of each bead against those of the others.
// SPDX-License-Identifier: MIT
#include "analysis/lens/reject_beads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/lens/fit_slice.hpp"
#include "analysis/lens/held_out.hpp"
#include "base/median.hpp"

namespace glint::lens {
namespace {

constexpr double max_relative_misfit = 4;  // of chi-squared beyond 1, per photon, in medians over the beads
constexpr double min_misfit = 1.3;         // chi-squared a degree of freedom that needs no explanation
constexpr double max_drift_px = 0.5;       // through the stack
constexpr std::size_t fits_a_bead = 15;    // for alignment and drift

}  // namespace

/// About fits_a_bead slices of each bead.
std::vector<std::pair<std::size_t, std::size_t>> sample_slices(const BeadSet& beads) {
    std::vector<std::pair<std::size_t, std::size_t>> list;
    for (std::size_t b = 0; b < beads.size(); ++b) {
        const std::size_t stride = std::max<std::size_t>(1, beads.windows[b].slices() / fits_a_bead);
        for (std::size_t k = stride / 2; k < beads.windows[b].slices(); k += stride) list.emplace_back(b, k);
    }
    return list;
}

bool reject_misfits(const LearntPsf& learnt, std::vector<BeadCandidate>& candidates, BeadSet& beads) {
    if (beads.size() < 4) return false;
    std::vector<double> relative;
    for (std::size_t b = 0; b < beads.size(); ++b)
        relative.push_back(std::max(learnt.misfit[b] - 1, 0.02) / learnt.places[b].photons);
    const double typical = median(relative);
    bool any = false;
    for (std::size_t b = beads.size(); b-- > 0 && beads.size() > 2;)
        if (learnt.misfit[b] > min_misfit && relative[b] > max_relative_misfit * typical) {
            candidates[beads.candidates[b]].rejected = fmt::format(
                "its images differ from those of the other beads (chi-squared {:.2f} a degree of "
                "freedom): two beads, or dirt",
                learnt.misfit[b]);
            beads.erase(b), any = true;
        }
    return any;
}

bool reject_drifts(const LearntPsf& learnt, std::vector<BeadCandidate>& candidates, BeadSet& beads) {
    if (beads.size() < 3) return false;
    const auto list = sample_slices(beads);
    const std::vector<SliceFit> fits = fit_slices(learnt, learnt.spline.grid.window, beads.windows, list);
    bool any = false;
    for (std::size_t b = beads.size(); b-- > 0;) {
        double n = 0, sz = 0, szz = 0;
        std::array<double, 2> sp{}, szp{};
        for (std::size_t k = 0; k < list.size(); ++k) {
            if (list[k].first != b || !fits[k].converged) continue;
            const double z = double(list[k].second) / double(beads.windows[b].slices());
            n += 1, sz += z, szz += z * z;
            for (std::size_t a = 0; a < 2; ++a) sp[a] += fits[k].theta[a], szp[a] += z * fits[k].theta[a];
        }
        const double spread = n * szz - sz * sz;
        if (n < 5 || !(spread > 0)) continue;
        const double drift = std::hypot((n * szp[0] - sz * sp[0]) / spread, (n * szp[1] - sz * sp[1]) / spread);
        if (drift <= max_drift_px || beads.size() < 3) continue;
        candidates[beads.candidates[b]].rejected =
            fmt::format("it moves by {:.2f} px through the stack against the other beads", drift);
        beads.erase(b), any = true;
    }
    return any;
}

}  // namespace glint::lens
