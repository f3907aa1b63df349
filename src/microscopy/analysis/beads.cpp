// Detects beads and fits them slice by slice.
// SPDX-License-Identifier: MIT
#include "analysis/beads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "glint/fit.hpp"

namespace glint {
namespace {

constexpr float min_relative_score = 0.2f;  // relative to the brightest bead; lower scores are halos or dirt

constexpr double max_from_centre = 1.5;  // px; lobes lie 2 px or more from the centre

std::vector<float> slice_of(Movie& stack, const CameraView& view, std::int64_t slice, FrameBlock& block) {
    std::vector<float> photoelectrons(std::size_t(view.width()) * view.height());
    stack.read(slice, 1, block);
    view.to_photoelectrons(block.frame(0), block.type, photoelectrons);
    return photoelectrons;
}

/// Returns a camera for the sum of `slices` frames of photoelectrons. Read variances add, and refer to the noise before
/// the division by q.
Camera camera_of_sum(const Camera& camera, const CameraView& view, std::int64_t slices) {
    Camera sum;
    sum.kind = camera.kind;
    const auto noise_e = [&](float variance, float qe) { return std::sqrt(variance * float(slices)) * qe; };
    sum.relative_qe.scalar = view.qe_scalar();
    if (view.variance_map().empty()) {
        sum.readnoise_e.scalar = noise_e(view.variance_scalar(), view.qe_scalar());
        return sum;
    }
    sum.sensor_width = view.width(), sum.sensor_height = view.height();
    for (std::size_t k = 0; k < view.variance_map().size(); ++k)
        sum.readnoise_e.map.push_back(noise_e(view.pixel(k).variance_e2, view.pixel(k).qe));
    sum.relative_qe.map.assign(view.qe_map().begin(), view.qe_map().end());
    return sum;
}

Spots picked(const Spots& from, const std::vector<std::size_t>& keep) {
    Spots to;
    for (std::size_t k : keep) {
        to.x.push_back(from.x[k]);
        to.y.push_back(from.y[k]);
        to.score.push_back(from.score[k]);
    }
    return to;
}

Spots bright_ones(const Spots& spots) {
    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < spots.count(); ++k)
        if (spots.score[k] >= min_relative_score * *std::max_element(spots.score.begin(), spots.score.end()))
            keep.push_back(k);
    return picked(spots, keep);
}

bool is_alone(const Spots& spots, std::size_t k, int distance) {
    for (std::size_t other = 0; other < spots.count(); ++other)
        if (other != k && std::abs(spots.x[other] - spots.x[k]) < distance &&
            std::abs(spots.y[other] - spots.y[k]) < distance)
            return false;
    return true;
}

/// Returns whether the window around a spot lies inside the frame.
bool is_inside(const Spots& spots, std::size_t k, const MovieInfo& info, int roi_size) {
    const auto fits = [&](int at, int length) { return at >= roi_size / 2 && at - roi_size / 2 + roi_size <= length; };
    return fits(spots.x[k], info.width) && fits(spots.y[k], info.height);
}

}  // namespace

FoundBeads find_beads(Movie& stack, const Camera& camera, double sigma_px, int roi_size) {
    const MovieInfo& info = stack.info();
    const CameraView view(camera, info.width, info.height);
    std::vector<float> sum(std::size_t(info.width) * info.height);
    FrameBlock block;
    for (std::int64_t slice = 0; slice < info.frames; ++slice) {
        const std::vector<float> frame = slice_of(stack, view, slice, block);
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += frame[k];
    }
    const CameraView sum_view(camera_of_sum(camera, view, info.frames), info.width, info.height);
    Spots spots;
    Detector(sum_view, {.filter = {sigma_px}}).find(sum, spots);
    spots = bright_ones(spots);
    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < spots.count(); ++k)
        if (is_inside(spots, k, info, roi_size) && is_alone(spots, k, roi_size)) keep.push_back(k);
    return {picked(spots, keep), spots};
}

std::string why_not_isolated(const Spots& all, const MovieInfo& info, int roi_size) {
    int cut = 0, crowded = 0;
    for (std::size_t k = 0; k < all.count(); ++k)
        if (!is_inside(all, k, info, roi_size))
            ++cut;
        else if (!is_alone(all, k, roi_size))
            ++crowded;
    return fmt::format(
        "{} spots were found: {} of them nearer than {} px to the frame's edge, and {} nearer than {} px to another "
        "spot",
        all.count(), cut, (roi_size + 1) / 2, crowded, roi_size);
}

Spots centres_of_groups(const Spots& spots, const MovieInfo& info, int distance, int roi_size) {
    Spots centres;
    std::vector<bool> taken(spots.count());
    for (std::size_t start = 0; start < spots.count(); ++start) {
        if (taken[start]) continue;
        std::vector<std::size_t> group{start};
        taken[start] = true;
        for (std::size_t at = 0; at < group.size(); ++at)
            for (std::size_t k = 0; k < spots.count(); ++k)
                if (!taken[k] && std::abs(spots.x[k] - spots.x[group[at]]) < distance &&
                    std::abs(spots.y[k] - spots.y[group[at]]) < distance)
                    taken[k] = true, group.push_back(k);
        int left = spots.x[start], right = left, top = spots.y[start], bottom = top;
        for (std::size_t k : group) {
            left = std::min(left, spots.x[k]), right = std::max(right, spots.x[k]);
            top = std::min(top, spots.y[k]), bottom = std::max(bottom, spots.y[k]);
        }
        centres.x.push_back((left + right) / 2), centres.y.push_back((top + bottom) / 2);
        centres.score.push_back(spots.score[start]);
    }
    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < centres.count(); ++k)
        if (is_inside(centres, k, info, roi_size)) keep.push_back(k);
    return picked(centres, keep);
}

std::vector<std::vector<BeadShape>> measure_beads(Movie& stack, const Camera& camera, const Spots& beads,
                                                  double sigma_px, int roi_size) {
    const MovieInfo& info = stack.info();
    const CameraView view(camera, info.width, info.height);
    const Psf psf{PsfModel::GaussianXYNBSXSY, 1000 * sigma_px, {}, {}};
    std::vector<std::vector<BeadShape>> shapes(std::size_t(info.frames));
    FrameBlock block;
    for (std::int64_t slice = 0; slice < info.frames; ++slice) {
        Rois rois = make_rois(view, roi_size);
        cut_rois(slice_of(stack, view, slice, block), view, beads, std::uint32_t(slice), rois);
        const Fits fits = fit(rois, psf, 1000);  // like `psf`: 1 px is 1000 nm
        for (std::size_t k = 0; k < fits.count(); ++k) {
            if (fits.status[k] != FitStatus::converged) continue;
            const std::span<const float> pixels(rois.pixels.data() + k * roi_size * roi_size,
                                                std::size_t(roi_size) * roi_size);
            const Moments start{fits.theta[0][k], fits.theta[1][k], double(fits.theta[4][k]) * fits.theta[4][k],
                                double(fits.theta[5][k]) * fits.theta[5][k], 0};
            const std::optional<Moments> moments = gaussian_moments(pixels, roi_size, fits.theta[3][k], start);
            if (!moments) continue;
            const double size = moments->xx + moments->yy;
            shapes[std::size_t(slice)].push_back({fits.theta[4][k], fits.theta[5][k], fits.crlb[4][k], fits.crlb[5][k],
                                                  fits.theta[2][k], (moments->xx - moments->yy) / size,
                                                  2 * moments->xy / size});
        }
    }
    return shapes;
}

std::vector<double> detected_at_centre(Movie& stack, const Camera& camera, const Spots& beads, double sigma_px,
                                       int roi_size) {
    const MovieInfo& info = stack.info();
    const CameraView view(camera, info.width, info.height);
    Detector detector(view, {.filter = {sigma_px}});
    std::vector<double> shares;
    FrameBlock block;
    Spots spots;
    for (std::int64_t slice = 0; slice < info.frames; ++slice) {
        spots.clear();
        detector.find(slice_of(stack, view, slice, block), spots);
        int at_centre = 0;
        for (std::size_t bead = 0; bead < beads.count(); ++bead) {
            float best = 0;
            double distance = roi_size;
            for (std::size_t k = 0; k < spots.count(); ++k) {
                const int dx = std::abs(spots.x[k] - beads.x[bead]), dy = std::abs(spots.y[k] - beads.y[bead]);
                if (std::max(dx, dy) <= roi_size / 2 && spots.score[k] > best)
                    best = spots.score[k], distance = std::hypot(dx, dy);
            }
            at_centre += distance <= max_from_centre;
        }
        shares.push_back(double(at_centre) / double(beads.count()));
    }
    return shares;
}

}  // namespace glint
