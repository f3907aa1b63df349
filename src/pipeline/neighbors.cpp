// Refitting of overlapping spots.
// SPDX-License-Identifier: MIT
#include "pipeline/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "pipeline/spot_grid.hpp"

namespace glint {
namespace {

/// A spot as its neighbours see it, in frame pixels.
struct Spot {
    double x, y, photons, sigma_x, sigma_y;
};

constexpr double reach = 3.5;  // sigmas, beyond which a spot adds less than 1 photon in 1000

Spot spot_of(const Rois& rois, const Fits& fits, const Psf& psf, double pixel_size_um, std::size_t k) {
    Spot spot{rois.x_corner[k] + double(fits.theta[0][k]), rois.y_corner[k] + double(fits.theta[1][k]),
              fits.theta[2][k], psf.sigma_um / pixel_size_um, psf.sigma_um / pixel_size_um};
    if (psf.model == PsfModel::GaussianXYNBS) spot.sigma_x = spot.sigma_y = fits.theta[4][k];
    if (psf.model == PsfModel::GaussianXYNBSXSY) spot.sigma_x = fits.theta[4][k], spot.sigma_y = fits.theta[5][k];
    if (psf.model == PsfModel::AstigmaticXYZNB) {
        spot.sigma_x = psf.curve.sigma_x_um(fits.theta[4][k]) / pixel_size_um;
        spot.sigma_y = psf.curve.sigma_y_um(fits.theta[4][k]) / pixel_size_um;
    }
    return spot;
}

bool usable(FitStatus status) { return status != FitStatus::singular && status != FitStatus::bad_input; }

bool reaches(const Spot& spot, const Rois& rois, std::size_t k) {
    const auto near = [&](double center, double sigma, int corner) {
        return center > corner - 0.5 - reach * sigma && center < corner + rois.size - 0.5 + reach * sigma;
    };
    return near(spot.x, spot.sigma_x, rois.x_corner[k]) && near(spot.y, spot.sigma_y, rois.y_corner[k]);
}

/// The pixel-integrated Gaussian along one axis (eq. 1.2).
void profile(double center, double sigma, int size, float* out) {
    double last = std::erf((-0.5 - center) / (std::numbers::sqrt2 * sigma));
    for (int i = 0; i < size; ++i) {
        const double next = std::erf((i + 0.5 - center) / (std::numbers::sqrt2 * sigma));
        out[i] = float(0.5 * (next - last));
        last = next;
    }
}

void add_model(const Spot& spot, const Rois& rois, std::size_t k, float* additive) {
    float along_x[max_roi_size], along_y[max_roi_size];
    profile(spot.x - rois.x_corner[k], spot.sigma_x, rois.size, along_x);
    profile(spot.y - rois.y_corner[k], spot.sigma_y, rois.size, along_y);
    for (int j = 0; j < rois.size; ++j)
        for (int i = 0; i < rois.size; ++i)
            additive[j * rois.size + i] += float(spot.photons) * along_x[i] * along_y[j];
}

/// Copies ROI k, with what its neighbours add, to the end of `crowded`.
void append_roi(const Rois& rois, std::size_t k, const std::vector<float>& additive, Rois& crowded) {
    const std::size_t pixels = additive.size();
    const auto extend = [&](std::vector<float>& to, const std::vector<float>& from) {
        if (!from.empty())
            to.insert(to.end(), from.begin() + std::ptrdiff_t(k * pixels),
                      from.begin() + std::ptrdiff_t((k + 1) * pixels));
    };
    extend(crowded.pixels, rois.pixels);
    extend(crowded.variance, rois.variance);
    extend(crowded.qe, rois.qe);
    crowded.additive.insert(crowded.additive.end(), additive.begin(), additive.end());
    if (rois.x_start.empty()) return;
    crowded.x_start.push_back(rois.x_start[k]);
    crowded.y_start.push_back(rois.y_start[k]);
}

/// Spots [begin, end) are those of a frame.
void find_neighbors(const Rois& rois, const std::vector<Spot>& spots, const Fits& fits, std::size_t begin,
                    std::size_t end, NeighborsFound& found) {
    std::vector<Point> corners;
    for (std::size_t k = begin; k < end; ++k) corners.push_back({double(rois.x_corner[k]), double(rois.y_corner[k])});
    const SpotGrid grid(corners, rois.size);
    for (std::size_t q = begin; q < end; ++q) {
        if (!usable(fits.status[q])) continue;
        const Spot& spot = spots[q];
        const double across = reach * spot.sigma_x + 1, along = reach * spot.sigma_y + 1;  // 1: whatever is rounded
        grid.visit({spot.x - rois.size - across, spot.y - rois.size - along}, {spot.x + across, spot.y + along},
                   [&](std::size_t at) {
                       const std::size_t k = begin + at;
                       ++found.pairs_compared;
                       if (k != q && reaches(spot, rois, k)) found.of[k].push_back(q);
                   });
    }
}

/// Which spots reach into which ROI, and in which turn of a round each is fitted: neighbours in different turns, so
/// that each sees the others' latest parameters and the fits settle instead of swinging.
struct Crowd {
    std::vector<std::vector<std::size_t>> neighbors;  // per spot
    std::vector<int> turn;                            // per spot; -1: alone
    int turns = 0;
};

/// The first turn that no neighbour before this spot has.
int free_turn(const std::vector<std::size_t>& neighbors, const std::vector<int>& turn) {
    for (int wanted = 0;; ++wanted)
        if (std::none_of(neighbors.begin(), neighbors.end(), [&](std::size_t q) { return turn[q] == wanted; }))
            return wanted;
}

Crowd crowd_of(NeighborsFound found) {
    Crowd crowd;
    crowd.neighbors = std::move(found.of);
    crowd.turn.assign(crowd.neighbors.size(), -1);
    for (std::size_t k = 0; k < crowd.turn.size(); ++k) {
        if (crowd.neighbors[k].empty()) continue;
        crowd.turn[k] = free_turn(crowd.neighbors[k], crowd.turn);
        crowd.turns = std::max(crowd.turns, crowd.turn[k] + 1);
    }
    return crowd;
}

/// The ROIs of one turn with their neighbours' models, as a stack of their own; `rows` tells which they are.
Rois rois_of_turn(const Rois& rois, const std::vector<Spot>& spots, const Crowd& crowd, int turn,
                  std::vector<std::size_t>& rows) {
    Rois crowded;
    crowded.size = rois.size;
    crowded.variance_scalar = rois.variance_scalar;
    crowded.qe_scalar = rois.qe_scalar;
    crowded.excess_noise = rois.excess_noise;
    std::vector<float> additive(std::size_t(rois.size) * rois.size);
    rows.clear();
    for (std::size_t k = 0; k < spots.size(); ++k) {
        if (crowd.turn[k] != turn) continue;
        std::fill(additive.begin(), additive.end(), 0.0f);
        for (std::size_t q : crowd.neighbors[k]) add_model(spots[q], rois, k, additive.data());
        append_roi(rois, k, additive, crowded);
        rows.push_back(k);
    }
    return crowded;
}

void replace_row(Fits& fits, std::size_t k, const Fits& by, std::size_t row) {
    for (int p = 0; p < parameter_count(fits.model); ++p) {
        fits.theta[p][k] = by.theta[p][row];
        fits.crlb[p][k] = by.crlb[p][row];
    }
    fits.log_likelihood_ratio[k] = by.log_likelihood_ratio[row];
    fits.p_value[k] = by.p_value[row];
    fits.iterations[k] = by.iterations[row];
    fits.status[k] = by.status[row];
}

std::vector<Spot> spots_of(const Rois& rois, const Fits& fits, const Psf& psf, double pixel_size_um) {
    std::vector<Spot> spots(fits.count());
    for (std::size_t k = 0; k < spots.size(); ++k) spots[k] = spot_of(rois, fits, psf, pixel_size_um, k);
    return spots;
}

NeighborsFound neighbors_of(const Rois& rois, const std::vector<Spot>& spots, const Fits& fits) {
    NeighborsFound found{std::vector<std::vector<std::size_t>>(spots.size())};
    for (std::size_t begin = 0, end; begin < spots.size(); begin = end) {
        for (end = begin + 1; end < spots.size() && rois.frame[end] == rois.frame[begin];) ++end;
        find_neighbors(rois, spots, fits, begin, end, found);
    }
    return found;
}

}  // namespace

NeighborsFound neighbors_of(const Rois& rois, const Fits& fits, const Psf& psf, double pixel_size_um) {
    return neighbors_of(rois, spots_of(rois, fits, psf, pixel_size_um), fits);
}

void refit_with_neighbors(const Rois& rois, const Psf& psf, double pixel_size_um, int rounds,
                          const std::function<Fits(const Rois&)>& fit_again, Fits& fits) {
    if (rounds < 1) return;
    std::vector<Spot> spots = spots_of(rois, fits, psf, pixel_size_um);
    const Crowd crowd = crowd_of(neighbors_of(rois, spots, fits));
    std::vector<std::size_t> rows;
    for (int step = 0; step < rounds * crowd.turns; ++step) {
        const Fits again = fit_again(rois_of_turn(rois, spots, crowd, step % crowd.turns, rows));
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (again.status[row] != FitStatus::converged) continue;
            replace_row(fits, rows[row], again, row);
            spots[rows[row]] = spot_of(rois, fits, psf, pixel_size_um, rows[row]);
        }
    }
}

}  // namespace glint
