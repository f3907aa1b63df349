// Cross-validation in two halves.
// SPDX-License-Identifier: MIT
#include "analysis/lens/held_out.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arena.hpp"
#include "base/median.hpp"

namespace glint::lens {
namespace {

using BeadAndSlice = std::pair<std::size_t, std::size_t>;

/// Subtracts the median of each bead's errors: its own z, and where its window lies.
void subtract_offsets(std::vector<HeldOutFit>& fits, std::size_t beads) {
    for (std::size_t b = 0; b < beads; ++b) {
        std::vector<double> x, y, z;
        for (const HeldOutFit& each : fits)
            if (each.bead == b && each.fit.converged)
                x.push_back(each.x_error_px), y.push_back(each.y_error_px), z.push_back(each.z_error_nm);
        if (z.empty()) continue;
        const double mx = median(x), my = median(y), mz = median(z);
        for (HeldOutFit& each : fits)
            if (each.bead == b) each.x_error_px -= mx, each.y_error_px -= my, each.z_error_nm -= mz;
    }
}

/// The part of the data that a PSF is estimated from (`half` 0 or 1).
struct Half {
    std::vector<BeadWindow> windows;
    std::vector<BeadPlace> places;
};

Half take_half(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& places, std::size_t half) {
    Half out;
    if (beads.size() == 1) return {{take_slices(beads[0], half, 2)}, places};
    for (std::size_t b = half; b < beads.size(); b += 2)
        out.windows.push_back(beads[b]), out.places.push_back(places[b]);
    return out;
}

}  // namespace

std::vector<SliceFit> fit_slices(const SliceFitter& fitter, const std::vector<BeadWindow>& beads,
                                 const std::vector<BeadAndSlice>& list) {
    std::vector<SliceFit> fits(list.size());
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), list.size(),
                          [&](std::size_t k) { fits[k] = fitter.fit(beads[list[k].first], list[k].second); });
    });
    return fits;
}

std::vector<SliceFit> fit_slices(const LearntPsf& learnt, int window, const std::vector<BeadWindow>& beads,
                                 const std::vector<BeadAndSlice>& list) {
    if (learnt.changes.empty()) return fit_slices(SliceFitter(learnt.spline, window), beads, list);
    std::vector<SliceFit> fits(list.size());
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), beads.size(), [&](std::size_t b) {
            const Spline here = learnt.at(beads[b]);
            const SliceFitter fitter(here, window);
            for (std::size_t k = 0; k < list.size(); ++k)
                if (list[k].first == b) fits[k] = fitter.fit(beads[b], list[k].second);
        });
    });
    return fits;
}

HeldOut fit_held_out(const std::vector<BeadWindow>& beads, const std::vector<BeadPlace>& start,
                     const LearnOptions& options, int window, std::size_t stride) {
    HeldOut out;
    out.by_slices = beads.size() == 1;
    for (std::size_t half = 0; half < 2; ++half) {
        const Half learnt_from = take_half(beads, start, half);
        const LearntPsf learnt = learn_spline(learnt_from.windows, learnt_from.places, options);
        std::vector<BeadAndSlice> list;
        for (std::size_t b = 0; b < beads.size(); ++b)
            for (std::size_t k = 0; k < beads[b].slices(); ++k) {
                const bool is_other = out.by_slices ? k % 2 != half : b % 2 != half;
                if (is_other && (out.by_slices ? k / 2 : k) % stride == 0) list.emplace_back(b, k);
            }
        const std::vector<SliceFit> fits = fit_slices(learnt, window, beads, list);
        for (std::size_t k = 0; k < list.size(); ++k) {
            const double z = beads[list[k].first].z_nm[list[k].second];
            out.fits.push_back({.bead = list[k].first,
                                .slice = list[k].second,
                                .z_nm = z,
                                .x_error_px = fits[k].theta[fit_x],
                                .y_error_px = fits[k].theta[fit_y],
                                .z_error_nm = fits[k].theta[fit_z] - z,
                                .wrong = false,
                                .fit = fits[k]});
        }
    }
    std::stable_sort(out.fits.begin(), out.fits.end(), [](const HeldOutFit& a, const HeldOutFit& b) {
        return std::pair(a.bead, a.slice) < std::pair(b.bead, b.slice);
    });
    subtract_offsets(out.fits, beads.size());
    for (HeldOutFit& each : out.fits) each.wrong = !each.fit.converged || std::abs(each.z_error_nm) >= max_right_nm;
    return out;
}

std::vector<PsfSliceError> errors_over_z(const HeldOut& held_out, double bin_nm, double pixel_size_nm) {
    double low = 1e300, high = -1e300;
    for (const HeldOutFit& each : held_out.fits) low = std::min(low, each.z_nm), high = std::max(high, each.z_nm);
    const int bins = std::max(1, int(std::lround((high - low) / bin_nm)));
    const double width = (high - low) / bins;
    std::vector<PsfSliceError> out;
    for (int k = 0; k < bins; ++k) {
        PsfSliceError bin;
        bin.z_nm = low + (k + 0.5) * width;
        std::vector<double> x, y, z;
        double right = 0;
        for (const HeldOutFit& each : held_out.fits) {
            const int at = width > 0 ? std::min(int((each.z_nm - low) / width), bins - 1) : 0;
            if (at != k) continue;
            ++bin.fits;
            if (each.wrong) continue;
            ++right;
            bin.z_bias_nm += each.z_error_nm, bin.z_rms_nm += each.z_error_nm * each.z_error_nm;
            bin.x_bias_nm += pixel_size_nm * each.x_error_px, bin.y_bias_nm += pixel_size_nm * each.y_error_px;
            x.push_back(pixel_size_nm * each.fit.crlb[fit_x]), y.push_back(pixel_size_nm * each.fit.crlb[fit_y]);
            z.push_back(each.fit.crlb[fit_z]);
            bin.deviance += each.fit.deviance / each.fit.degrees_of_freedom;
            bin.good_p += each.fit.p_value > 0.01;
        }
        if (bin.fits == 0) continue;
        bin.wrong = 1 - right / bin.fits;
        if (right > 0) {
            for (double* sum :
                 {&bin.z_bias_nm, &bin.z_rms_nm, &bin.x_bias_nm, &bin.y_bias_nm, &bin.deviance, &bin.good_p})
                *sum /= right;
            bin.z_rms_nm = std::sqrt(bin.z_rms_nm);
            bin.x_crlb_nm = median(x), bin.y_crlb_nm = median(y), bin.z_crlb_nm = median(z);
        }
        out.push_back(bin);
    }
    return out;
}

}  // namespace glint::lens
