// Refits overlapping spots.
// SPDX-License-Identifier: MIT
#include "pipeline/neighbors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "pipeline/spot_grid.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

/// A spot as it affects its neighbours, in frame pixels.
struct Spot {
    double x, y, photons;
    PsfExtent extent;
    std::array<double, max_shape_parameters> shape;
};

Spot spot_of(const Rois& rois, const Fits& fits, const PsfInDouble& psf, std::size_t row) {
    const std::size_t window = fits.window_index(row);
    Spot spot{rois.x_corner[window] + double(fits.theta[0][row]),
              rois.y_corner[window] + double(fits.theta[1][row]),
              fits.theta[2][row],
              {},
              {}};
    for (int p = 4; p < parameter_count(fits.model); ++p)
        spot.shape[std::size_t(p - 4)] = fits.theta[std::size_t(p)][row];
    spot.extent = psf.extent(spot.shape.data(), PsfPart::nearly_all);
    return spot;
}

bool reaches(const Spot& spot, const Rois& rois, std::size_t k) {
    const auto near = [&](double center, double extent, int corner) {
        return center > corner - 0.5 - extent && center < corner + rois.size - 0.5 + extent;
    };
    return near(spot.x, spot.extent.x_px, rois.x_corner[k]) && near(spot.y, spot.extent.y_px, rois.y_corner[k]);
}

/// Computes the pixel-integrated Gaussian along one axis (eq. 1.2).
void profile(double center, double width, int size, float* out) {
    double last = std::erf((-0.5 - center) / (std::numbers::sqrt2 * width));
    for (int i = 0; i < size; ++i) {
        const double next = std::erf((i + 0.5 - center) / (std::numbers::sqrt2 * width));
        out[i] = float(0.5 * (next - last));
        last = next;
    }
}

void add_model(const Spot& spot, const PsfInDouble& psf, const Rois& rois, std::size_t k, float* additive) {
    if (!psf.separable()) {
        std::array<double, 4 + max_shape_parameters> theta{spot.x, spot.y, spot.photons, 0};
        std::copy(spot.shape.begin(), spot.shape.end(), theta.begin() + 4);
        std::vector<double> light(std::size_t(rois.size) * rois.size, 0.0);
        psf.add_photons(theta.data(), rois.x_corner[k], rois.y_corner[k], rois.size, rois.size, light.data());
        for (std::size_t p = 0; p < light.size(); ++p) additive[p] += float(light[p]);
        return;
    }
    float along_x[max_roi_size], along_y[max_roi_size];
    const PsfWidths widths = psf.widths(spot.shape.data());
    profile(spot.x - rois.x_corner[k], widths.x_px, rois.size, along_x);
    profile(spot.y - rois.y_corner[k], widths.y_px, rois.size, along_y);
    for (int j = 0; j < rois.size; ++j)
        for (int i = 0; i < rois.size; ++i)
            additive[j * rois.size + i] += float(spot.photons) * along_x[i] * along_y[j];
}

/// Copies ROI k, with its neighbours' light, to the end of `crowded`.
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
    crowded.x_corner.push_back(rois.x_corner[k]);
    crowded.y_corner.push_back(rois.y_corner[k]);
    if (rois.x_start.empty()) return;
    crowded.x_start.push_back(rois.x_start[k]);
    crowded.y_start.push_back(rois.y_start[k]);
}

/// Returns the first row of each window, then the number of rows. Rows are ordered by window.
std::vector<std::size_t> first_rows(std::size_t windows, const Fits& fits) {
    std::vector<std::size_t> first(windows + 1, fits.count());
    for (std::size_t row = fits.count(); row-- > 0;) first[fits.window_index(row)] = row;
    for (std::size_t window = windows; window-- > 0;) first[window] = std::min(first[window], first[window + 1]);
    return first;
}

/// Finds the neighbours of windows [begin, end), which belong to one frame.
void find_neighbors(const Rois& rois, const std::vector<Spot>& spots, const Fits& fits,
                    const std::vector<std::size_t>& first_row, std::size_t begin, std::size_t end,
                    NeighborsFound& found) {
    std::vector<GridPoint> corners;
    for (std::size_t k = begin; k < end; ++k) corners.push_back({double(rois.x_corner[k]), double(rois.y_corner[k])});
    const SpotGrid grid(corners, rois.size);
    for (std::size_t q = first_row[begin]; q < first_row[end]; ++q) {
        if (!has_position(fits.status[q])) continue;
        const Spot& spot = spots[q];
        const double across = spot.extent.x_px + 1, along = spot.extent.y_px + 1;  // 1: a margin for rounding
        grid.visit({spot.x - rois.size - across, spot.y - rois.size - along}, {spot.x + across, spot.y + along},
                   [&](std::size_t at) {
                       const std::size_t k = begin + at;
                       ++found.pairs_compared;
                       if (k != fits.window_index(q) && reaches(spot, rois, k)) found.of[k].push_back(q);
                   });
    }
}

/// The spots that reach into each window, and the window's turn in a round of fits. Neighbours have different turns, so
/// each fit uses the latest parameters of its neighbours. Simultaneous fits could oscillate instead of converging.
struct Crowd {
    std::vector<std::vector<std::size_t>> neighbors;  // rows, per window
    std::vector<int> turn;                            // per window; -1: no neighbours
    int turns = 0;
};

/// Returns the lowest turn that no neighbour's window has.
int free_turn(const std::vector<std::size_t>& neighbors, const Fits& fits, const std::vector<int>& turn) {
    const auto taken = [&](int wanted) {
        return std::any_of(neighbors.begin(), neighbors.end(),
                           [&](std::size_t row) { return turn[fits.window_index(row)] == wanted; });
    };
    int free = 0;
    while (taken(free)) ++free;
    return free;
}

Crowd crowd_of(NeighborsFound found, const Fits& fits) {
    Crowd crowd;
    crowd.neighbors = std::move(found.of);
    crowd.turn.assign(crowd.neighbors.size(), -1);
    for (std::size_t k = 0; k < crowd.turn.size(); ++k) {
        if (crowd.neighbors[k].empty()) continue;
        crowd.turn[k] = free_turn(crowd.neighbors[k], fits, crowd.turn);
        crowd.turns = std::max(crowd.turns, crowd.turn[k] + 1);
    }
    return crowd;
}

/// Copies the windows of one turn, with their neighbours' models, into a stack; `windows` receives their numbers.
Rois rois_of_turn(const Rois& rois, const std::vector<Spot>& spots, const PsfInDouble& psf, const Crowd& crowd,
                  int turn, std::vector<std::size_t>& windows) {
    Rois crowded;
    crowded.size = rois.size;
    crowded.variance_scalar = rois.variance_scalar;
    crowded.qe_scalar = rois.qe_scalar;
    crowded.excess_noise = rois.excess_noise;
    std::vector<float> additive(std::size_t(rois.size) * rois.size);
    windows.clear();
    for (std::size_t k = 0; k < crowd.turn.size(); ++k) {
        if (crowd.turn[k] != turn) continue;
        std::fill(additive.begin(), additive.end(), 0.0f);
        for (std::size_t q : crowd.neighbors[k]) add_model(spots[q], psf, rois, k, additive.data());
        append_roi(rois, k, additive, crowded);
        windows.push_back(k);
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

bool all_converged(const Fits& fits, std::size_t first, std::size_t count) {
    return std::all_of(fits.status.begin() + std::ptrdiff_t(first), fits.status.begin() + std::ptrdiff_t(first + count),
                       [](FitStatus status) { return status == FitStatus::converged; });
}

std::vector<Spot> spots_of(const Rois& rois, const Fits& fits, const PsfInDouble& psf) {
    std::vector<Spot> spots(fits.count());
    for (std::size_t k = 0; k < spots.size(); ++k) spots[k] = spot_of(rois, fits, psf, k);
    return spots;
}

NeighborsFound neighbors_of(const Rois& rois, const std::vector<Spot>& spots, const Fits& fits) {
    const std::size_t windows = rois.frame.size();
    const std::vector<std::size_t> first_row = first_rows(windows, fits);
    NeighborsFound found{std::vector<std::vector<std::size_t>>(windows)};
    for (std::size_t begin = 0, end; begin < windows; begin = end) {
        for (end = begin + 1; end < windows && rois.frame[end] == rois.frame[begin];) ++end;
        find_neighbors(rois, spots, fits, first_row, begin, end, found);
    }
    return found;
}

}  // namespace

NeighborsFound neighbors_of(const Rois& rois, const Fits& fits, const Psf& psf, double pixel_size_nm) {
    return neighbors_of(rois, spots_of(rois, fits, PsfInDouble(psf, pixel_size_nm)), fits);
}

void refit_with_neighbors(const Rois& rois, const Psf& psf, double pixel_size_nm, int rounds,
                          const std::function<Fits(const Rois&)>& fit_again, Fits& fits) {
    if (rounds < 1) return;
    const PsfInDouble model(psf, pixel_size_nm);
    std::vector<Spot> spots = spots_of(rois, fits, model);
    const Crowd crowd = crowd_of(neighbors_of(rois, spots, fits), fits);
    const std::vector<std::size_t> first_row = first_rows(rois.frame.size(), fits);
    std::vector<std::size_t> windows;
    for (int step = 0; step < rounds * crowd.turns; ++step) {
        const Fits again = fit_again(rois_of_turn(rois, spots, model, crowd, step % crowd.turns, windows));
        const std::vector<std::size_t> first_again = first_rows(windows.size(), again);
        for (std::size_t k = 0; k < windows.size(); ++k) {
            const std::size_t first = first_row[windows[k]], count = first_row[windows[k] + 1] - first;
            if (first_again[k + 1] - first_again[k] != count || !all_converged(again, first_again[k], count)) continue;
            for (std::size_t row = 0; row < count; ++row) {
                replace_row(fits, first + row, again, first_again[k] + row);
                spots[first + row] = spot_of(rois, fits, model, first + row);
            }
        }
    }
}

}  // namespace glint
