// Maxima of the mean projection after a wide filter, their light and the reasons against them.
// SPDX-License-Identifier: MIT
#include "analysis/lens/find_beads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "base/median.hpp"
#include "data/highest_counts.hpp"

namespace glint::lens {
namespace {

constexpr double filter_px = 4;             // joins lobes up to about 12 px apart
constexpr int maximum_radius_px = 8;        // of which a candidate is the maximum
constexpr double min_relative_peak = 0.02;  // of the brightest candidate: dimmer ones disturb nobody
constexpr double min_peak_in_noise = 8;     // robust standard deviations of the filtered projection over its pixels
constexpr double min_crowded_peak = 0.3;    // of the brightest: crowded beads raise that standard deviation
constexpr double min_peak_in_errors = 8;    // standard errors of the filtered projection, by the scatter of slices
constexpr int min_window = 11, max_window = 61;
constexpr std::ptrdiff_t wanted_beads = 8;  // for which the window may become smaller
constexpr int rings_beyond_light = 2;       // px: slices out of focus are wider than the mean projection
constexpr double edge_of_light = 0.01;      // of the mean projection's maximum
constexpr double min_relative_light = 0.3, max_relative_light = 3;  // of the median: others are dirt or clusters

std::vector<float> gaussian_filter(const std::vector<float>& image, int width, int height, double sigma) {
    const int reach = int(std::ceil(3 * sigma));
    std::vector<float> kernel;
    for (int k = -reach; k <= reach; ++k) kernel.push_back(float(std::exp(-0.5 * k * k / (sigma * sigma))));
    const auto along = [&](const std::vector<float>& from, int count, int lines, int step, int line_step) {
        std::vector<float> to(from.size());
        for (int line = 0; line < lines; ++line)
            for (int i = 0; i < count; ++i) {
                double sum = 0, total = 0;  // normalised at the edges
                for (int k = std::max(-reach, -i); k <= std::min(reach, count - 1 - i); ++k) {
                    const double weight = kernel[std::size_t(k + reach)];
                    sum += weight * from[std::size_t(line * line_step + (i + k) * step)], total += weight;
                }
                to[std::size_t(line * line_step + i * step)] = float(sum / total);
            }
        return to;
    };
    return along(along(image, width, height, 1, width), height, width, width, 1);
}

/// Saturation over all counts of a stack, and which pixels reach it.
template <class Count>
void find_saturated(Movie& stack, const std::vector<std::int64_t>& slices, Projection& out) {
    HighestCounts highest;
    std::vector<double> brightest(out.mean.size());
    FrameBlock block;
    for (const std::int64_t slice : slices) {
        stack.read(slice, 1, block);
        const auto* counts = reinterpret_cast<const Count*>(block.frame(0));
        highest.add(counts, out.mean.size());
        for (std::size_t p = 0; p < brightest.size(); ++p)
            if (double(counts[p]) > brightest[p]) brightest[p] = double(counts[p]);
    }
    const double level = saturation_of<Count>(highest);
    for (std::size_t p = 0; level > 0 && p < brightest.size(); ++p) out.saturated[p] = brightest[p] >= level;
}

/// Whether all pixels of a frame have the same bytes.
bool is_constant(const FrameBlock& block) {
    const std::size_t size = std::size_t(num_bytes(block.type));
    const auto* bytes = block.frame(0);
    return std::equal(bytes + size, bytes + block.frame_bytes(), bytes);
}

bool is_maximum(const Projection& p, const std::vector<float>& image, int x, int y) {
    const float value = image[p.at(x, y)];
    for (int j = std::max(0, y - maximum_radius_px); j <= std::min(p.height - 1, y + maximum_radius_px); ++j)
        for (int i = std::max(0, x - maximum_radius_px); i <= std::min(p.width - 1, x + maximum_radius_px); ++i) {
            const float other = image[p.at(i, j)];
            if (other > value || (other == value && (j < y || (j == y && i < x)))) return false;
        }
    return true;
}

/// The median of the mean projection around a place: beads are sparse.
double local_background(const Projection& p, double x, double y, int half) {
    std::vector<float> values;
    for (int j = std::max(0, int(y) - half); j <= std::min(p.height - 1, int(y) + half); ++j)
        for (int i = std::max(0, int(x) - half); i <= std::min(p.width - 1, int(x) + half); ++i)
            if (std::max(std::abs(i - int(x)), std::abs(j - int(y))) >= half - 1) values.push_back(p.mean[p.at(i, j)]);
    return values.empty() ? 0 : median(values);
}

/// Moves a candidate to the centroid of the light around it, and measures the light.
void find_centroid(const Projection& p, BeadCandidate& bead) {
    constexpr int half = 10;
    const double background = local_background(p, bead.x_px, bead.y_px, 2 * half);
    for (int round = 0; round < 5; ++round) {
        double sum = 0, x = 0, y = 0;
        const int cx = int(std::lround(bead.x_px)), cy = int(std::lround(bead.y_px));
        for (int j = std::max(0, cy - half); j <= std::min(p.height - 1, cy + half); ++j)
            for (int i = std::max(0, cx - half); i <= std::min(p.width - 1, cx + half); ++i) {
                const double light = std::max(0.0, p.mean[p.at(i, j)] - background);
                const double share = light * std::sqrt(light);
                sum += share, x += share * i, y += share * j;
            }
        if (!(sum > 0)) return;
        bead.x_px = x / sum, bead.y_px = y / sum;
    }
    bead.light = 0;
    const int cx = int(std::lround(bead.x_px)), cy = int(std::lround(bead.y_px));
    for (int j = std::max(0, cy - half); j <= std::min(p.height - 1, cy + half); ++j)
        for (int i = std::max(0, cx - half); i <= std::min(p.width - 1, cx + half); ++i)
            bead.light += p.mean[p.at(i, j)] - background;
}

double distance_to_next(const std::vector<BeadCandidate>& all, std::size_t b) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < all.size(); ++k)
        if (k != b && all[k].file == all[b].file)
            nearest =
                std::min(nearest, std::max(std::abs(all[k].x_px - all[b].x_px), std::abs(all[k].y_px - all[b].y_px)));
    return nearest;
}

bool is_inside(const Projection& p, const BeadCandidate& bead, int half) {
    const int x = int(std::lround(bead.x_px)), y = int(std::lround(bead.y_px));
    return x >= half && y >= half && x + half < p.width && y + half < p.height;
}

template <class Pixels>
bool any_in_window(const Projection& p, const BeadCandidate& bead, int half, const Pixels& flags) {
    const int x = int(std::lround(bead.x_px)), y = int(std::lround(bead.y_px));
    for (int j = y - half; j <= y + half; ++j)
        for (int i = x - half; i <= x + half; ++i)
            if (flags[p.at(i, j)]) return true;
    return false;
}

/// Mean of the mean projection on square rings around a bead.
std::vector<double> ring_means(const Projection& p, const BeadCandidate& bead, int rings) {
    std::vector<double> sums(std::size_t(rings), 0.0), counts(std::size_t(rings), 0.0);
    const int x = int(std::lround(bead.x_px)), y = int(std::lround(bead.y_px));
    for (int j = -rings + 1; j < rings; ++j)
        for (int i = -rings + 1; i < rings; ++i) {
            if (x + i < 0 || y + j < 0 || x + i >= p.width || y + j >= p.height) continue;
            const std::size_t ring = std::size_t(std::max(std::abs(i), std::abs(j)));
            sums[ring] += p.mean[p.at(x + i, y + j)], counts[ring] += 1;
        }
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r] /= std::max(counts[r], 1.0);
    return sums;
}

}  // namespace

Projection project(Movie& stack, const CameraView& view, const std::vector<std::int64_t>& slices,
                   const std::function<void()>& between_slices) {
    const MovieInfo& info = stack.info();
    const std::size_t pixels = std::size_t(info.width) * std::size_t(info.height);
    Projection out{.width = info.width,
                   .height = info.height,
                   .mean = std::vector<float>(pixels),
                   .max = std::vector<float>(pixels, std::numeric_limits<float>::lowest()),
                   .saturated = std::vector<char>(pixels),
                   .missing = std::vector<char>(pixels),
                   .missing_in_slice = {},
                   .constant_slice = {}};
    std::vector<double> sums(pixels), squares(pixels);
    std::vector<float> first(pixels);
    std::vector<float> frame(pixels);
    FrameBlock block;
    for (const std::int64_t slice : slices) {
        between_slices();
        stack.read(slice, 1, block);
        view.to_photoelectrons(block.frame(0), block.type, frame);
        out.constant_slice.push_back(is_constant(block));
        std::size_t missing = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
            if (!std::isfinite(frame[p])) out.missing[p] = 1, frame[p] = 0, ++missing;
            if (slice == slices.front()) first[p] = frame[p];
            sums[p] += frame[p], squares[p] += std::pow(double(frame[p]) - first[p], 2),
                out.max[p] = std::max(out.max[p], frame[p]);
        }
        out.missing_in_slice.push_back(missing);
    }
    const double n = double(slices.size());
    for (std::size_t p = 0; p < pixels; ++p) {
        out.mean[p] = float(sums[p] / n);
        squares[p] = std::max(0.0, squares[p] - n * std::pow(sums[p] / n - first[p], 2)) / (n - 1);
    }
    out.noise = std::sqrt(median(squares) / n);
    switch (info.type) {
        case PixelType::uint8: find_saturated<std::uint8_t>(stack, slices, out); break;
        case PixelType::uint16: find_saturated<std::uint16_t>(stack, slices, out); break;
        case PixelType::float32: find_saturated<float>(stack, slices, out); break;
    }
    return out;
}

std::vector<BeadCandidate> find_candidates(const Projection& p, std::size_t file) {
    const std::vector<float> image = gaussian_filter(p.mean, p.width, p.height, filter_px);
    const double background = median(image);
    std::vector<float> distances;
    for (const float value : image) distances.push_back(float(std::abs(value - background)));
    const double noise = 1.4826 * median(distances);
    double highest = 0;
    for (const float value : image) highest = std::max(highest, value - background);
    const double filtered = p.noise / (2 * filter_px * std::sqrt(std::numbers::pi));
    const double threshold =
        std::max({min_relative_peak * highest, std::min(min_peak_in_noise * noise, min_crowded_peak * highest),
                  min_peak_in_errors * filtered});
    std::vector<BeadCandidate> found;
    for (int y = 0; y < p.height; ++y)
        for (int x = 0; x < p.width; ++x)
            if (image[p.at(x, y)] - background > threshold && is_maximum(p, image, x, y)) {
                BeadCandidate bead{.file = file, .x_px = double(x), .y_px = double(y)};
                find_centroid(p, bead);
                if (bead.light > 0) found.push_back(bead);
            }
    return found;
}

int choose_window(std::span<const Projection> projections, const std::vector<BeadCandidate>& candidates) {
    int half = min_window / 2;
    std::vector<double> halves;
    for (std::size_t b = 0; b < candidates.size(); ++b) {
        const Projection& p = projections[candidates[b].file];
        const int rings = int(std::min(distance_to_next(candidates, b) / 2 + 1, double(max_window / 2 + 1)));
        if (rings <= half || !is_inside(p, candidates[b], half)) continue;
        const std::vector<double> means = ring_means(p, candidates[b], rings);
        const double floor = *std::min_element(means.begin(), means.end());
        const double peak = *std::max_element(means.begin(), means.end()) - floor;
        int r = int(means.size()) - 1;
        while (r > 0 && means[std::size_t(r - 1)] - floor < edge_of_light * peak) --r;
        halves.push_back(r);
    }
    if (!halves.empty()) half = int(std::lround(median(halves))) + rings_beyond_light;
    int window = std::clamp(2 * half + 1, min_window, max_window);
    const auto usable = [&](int size) {
        std::vector<BeadCandidate> tried = candidates;
        reject_candidates(projections, size, tried);
        return std::count_if(tried.begin(), tried.end(), [](const BeadCandidate& b) { return b.rejected.empty(); });
    };
    const auto wanted = std::min<std::ptrdiff_t>(wanted_beads, usable(min_window));
    while (window > min_window && usable(window) < wanted) window -= 2;
    return window;
}

void reject_candidates(std::span<const Projection> projections, int window, std::vector<BeadCandidate>& candidates) {
    std::vector<double> light;
    for (std::size_t b = 0; b < candidates.size(); ++b) {
        BeadCandidate& bead = candidates[b];
        const Projection& p = projections[bead.file];
        const double distance = distance_to_next(candidates, b), min_distance = min_distance_in_windows * window;
        bead.rejected.clear();
        if (!is_inside(p, bead, window / 2))
            bead.rejected = fmt::format("nearer than {} px to the edge of the frame", window / 2 + 1);
        else if (any_in_window(p, bead, window / 2, p.missing))
            bead.rejected = "missing pixels (NaN) in its window";
        else if (any_in_window(p, bead, window / 2, p.saturated))
            bead.rejected = "saturated";
        else if (distance < min_distance)
            bead.rejected =
                fmt::format("another spot at {:.1f} px; at least {:.1f} are needed", distance, min_distance);
        else
            light.push_back(bead.light);
    }
    if (light.size() < 3) return;
    const double typical = median(light);
    for (BeadCandidate& bead : candidates) {
        if (!bead.rejected.empty()) continue;
        const double relative = bead.light / typical;
        if (relative < min_relative_light || relative > max_relative_light)
            bead.rejected = fmt::format("{:.2g} times as bright as the median", relative);
    }
}

std::vector<BeadWindow> cut_windows(Movie& stack, const CameraView& view, std::size_t file, int window,
                                    const std::vector<std::int64_t>& slices, const std::vector<double>& z_nm,
                                    const std::vector<BeadCandidate>& candidates,
                                    const std::function<void()>& between_slices) {
    std::vector<BeadWindow> windows;
    for (const BeadCandidate& bead : candidates) {
        if (bead.file != file || !bead.rejected.empty()) continue;
        BeadWindow out;
        out.file = file, out.size = window, out.z_nm = z_nm;
        out.left = int(std::lround(bead.x_px)) - window / 2, out.top = int(std::lround(bead.y_px)) - window / 2;
        for (int j = 0; j < window; ++j)
            for (int i = 0; i < window; ++i) {
                const CameraView::Pixel pixel =
                    view.pixel(std::size_t(out.top + j) * std::size_t(view.width()) + std::size_t(out.left + i));
                out.shot_noise.push_back(view.excess_noise() / pixel.qe);
                out.read_variance.push_back(pixel.variance_e2);
            }
        windows.push_back(std::move(out));
    }
    if (windows.empty()) return windows;
    std::vector<float> frame(std::size_t(view.width()) * std::size_t(view.height()));
    FrameBlock block;
    for (const std::int64_t slice : slices) {
        between_slices();
        stack.read(slice, 1, block);
        view.to_photoelectrons(block.frame(0), block.type, frame);
        for (BeadWindow& out : windows)
            for (int j = 0; j < window; ++j) {
                const auto row = frame.begin() + std::ptrdiff_t(out.top + j) * view.width() + out.left;
                out.photoelectrons.insert(out.photoelectrons.end(), row, row + window);
            }
    }
    return windows;
}

}  // namespace glint::lens
