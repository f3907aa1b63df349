// Detects saturated pixels by their value. Detects hits by the fit of a window, if one pixel explains the window better
// than a spot does.
// SPDX-License-Identifier: MIT
#include "pipeline/unusable_pixels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "detect/pixel_survey.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr float missing = std::numeric_limits<float>::quiet_NaN();

std::span<float> pixels_of(Rois& rois, std::size_t window) {
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    return std::span(rois.pixels).subspan(window * area, area);
}

/// Sets saturated pixels of the windows to NaN; counts them per window.
void leave_out_saturated(const LocalizeJob& job, Rois& rois, std::vector<std::uint32_t>& counts) {
    counts.assign(rois.count(), 0);
    for (std::size_t k = 0; k < rois.count(); ++k) {
        const std::span<float> pixels = pixels_of(rois, k);
        float most = 0;
        for (const float e : pixels) most = e > most ? e : most;
        if (most < job.saturated_e) continue;
        for (std::size_t p = 0; p < pixels.size(); ++p) {
            const std::size_t x = std::size_t(rois.x_corner[k]) + p % std::size_t(rois.size),
                              y = std::size_t(rois.y_corner[k]) + p / std::size_t(rois.size);
            if (pixels[p] >= saturated_from_e(job, y * std::size_t(job.camera.width()) + x))
                pixels[p] = missing, ++counts[k];
        }
    }
}

/// A window's pixels as in docs/explanation/theory.md, eq. 2.2 and 2.3.
class WindowPixels {
  public:
    WindowPixels(const Rois& rois, std::size_t window) : rois_(rois) {
        const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
        first_ = window * area;
    }
    double photoelectrons(std::size_t p) const { return double(rois_.pixels[first_ + p]); }
    double weight(std::size_t p) const { return rois_.qe.empty() ? 1 : double(rois_.qe[first_ + p]); }
    double shot_noise() const { return double(rois_.excess_noise) / (rois_.qe.empty() ? double(rois_.qe_scalar) : 1); }
    double read_variance(std::size_t p) const {
        return weight(p) * double(rois_.variance.empty() ? rois_.variance_scalar : rois_.variance[first_ + p]);
    }
    /// Returns the deviance (4.1) of a pixel with `expected` expected photoelectrons.
    double deviance(std::size_t p, double expected) const {
        const double f = shot_noise(), more = read_variance(p) / (f * f);
        const double data = std::max(0.0, photoelectrons(p) / f + more), mu = std::max(expected / f + more, 0.01);
        return 2 * weight(p) * ((data > 0 ? data * std::log(data / mu) : 0) - (data - mu));
    }

  private:
    const Rois& rois_;
    std::size_t first_;
};

/// Returns true if the third brightest neighbour of a pixel is so bright that find_hit() rejects a hit, whatever the
/// noise. True for most spots, and fast.
bool is_surely_spot(const Rois& rois, std::size_t window, std::size_t hit, double light_beside) {
    constexpr double rounding = 1e-5;
    const int size = rois.size, x0 = int(hit) % size, y0 = int(hit) / size;
    const float* pixels = rois.pixels.data() + window * std::size_t(size) * std::size_t(size);
    std::array<float, 3> brightest;
    brightest.fill(-std::numeric_limits<float>::infinity());
    for (int v = std::max(y0 - 1, 0); v <= std::min(y0 + 1, size - 1); ++v)
        for (int u = std::max(x0 - 1, 0); u <= std::min(x0 + 1, size - 1); ++u) {
            if (v == y0 && u == x0) continue;
            float e = pixels[v * size + u];
            for (float& other : brightest) {
                const float more = other > e ? other : e;
                e = other > e ? e : other, other = more;
            }
        }
    // With less background than `most`, the third brightest exceeds the share light_beside of the brightest pixel's
    // light.
    const double third = double(brightest[2]), peak = double(pixels[hit]);
    const auto most =
        float((third - light_beside * peak) / (1 - light_beside) - rounding * std::max(std::abs(peak), 1.0));
    int darker = 0;
    for (int p = 0; p < size * size; ++p) darker += pixels[p] < most;
    return darker > size * size / 4;  // then the lower quartile is such a background
}

/// Returns the pixel of the window that a hit explains better than a spot, or the number of pixels if there is none. A
/// spot of the PSF's width, and even a narrower one, also has light beside its brightest pixel.
std::size_t find_hit(const FoundSpots& found, std::size_t window, double light_beside) {
    constexpr double min_gain = 20, min_deviations = 5;
    const Rois& rois = found.rois;
    const WindowPixels pixels(rois, window);
    const int size = rois.size;
    const std::size_t area = std::size_t(size) * std::size_t(size);
    const int x0 = int(rois.x_start[window]), y0 = int(rois.y_start[window]);
    const auto for_around = [&](int x, int y, const auto& act) {
        for (int v = std::max(y - 1, 0); v <= std::min(y + 1, size - 1); ++v)
            for (int u = std::max(x - 1, 0); u <= std::min(x + 1, size - 1); ++u) act(std::size_t(v * size + u));
    };
    std::size_t hit = std::size_t(y0 * size + x0);
    for_around(x0, y0, [&](std::size_t p) {
        if (pixels.photoelectrons(p) > pixels.photoelectrons(hit)) hit = p;
    });
    if (is_surely_spot(rois, window, hit, light_beside)) return area;
    double sum = 0, weights = 0;
    for (std::size_t p = 0; p < area; ++p) {
        if (std::isnan(pixels.photoelectrons(p))) return area;
        if (p == hit || pixels.read_variance(p) >= double(masked_variance_e2)) continue;
        sum += pixels.weight(p) * pixels.photoelectrons(p), weights += pixels.weight(p);
    }
    const double background = weights > 0 ? sum / weights : 0, excess = pixels.photoelectrons(hit) - background;
    const double noise = std::sqrt(pixels.shot_noise() * std::max(background, 0.0) + pixels.read_variance(hit));
    if (!(excess > min_deviations * noise)) return area;
    std::array<double, 8> around{};
    std::size_t n = 0;
    for_around(int(hit) % size, int(hit) / size, [&](std::size_t p) {
        if (p != hit) around[n++] = pixels.photoelectrons(p);
    });
    const auto end = around.begin() + std::ptrdiff_t(n);
    std::partial_sort(around.begin(), std::min(end, around.begin() + 3), end, std::greater<>());
    std::vector<float> sorted(rois.pixels.begin() + std::ptrdiff_t(window * area),
                              rois.pixels.begin() + std::ptrdiff_t((window + 1) * area));
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(area / 4), sorted.end());
    const double low = double(sorted[area / 4]);  // an estimate of the background, even around a bright spot
    // The narrowest spot would leave more light there, by more than three errors.
    const double expected = light_beside * (pixels.photoelectrons(hit) - low);
    const double error = std::sqrt(pixels.shot_noise() * (std::max(low, 0.0) + expected +
                                                          light_beside * light_beside * pixels.photoelectrons(hit)) +
                                   pixels.read_variance(hit));
    if (n < 3 || around[2] - low > expected - 3 * error) return area;
    double deviance = 0;
    for (std::size_t p = 0; p < area; ++p)
        if (p != hit) deviance += pixels.deviance(p, background);
    return -2 * double(found.fits.log_likelihood_ratio[window]) - deviance > min_gain ? hit : area;
}

/// Sets a frame position to NaN in a window that contains it. Returns true if it does.
bool leave_out(Rois& rois, std::size_t window, int x, int y) {
    const int u = x - rois.x_corner[window], v = y - rois.y_corner[window];
    if (u < 0 || v < 0 || u >= rois.size || v >= rois.size) return false;
    pixels_of(rois, window)[std::size_t(v * rois.size + u)] = missing;
    return true;
}

void leave_out_hits(const LocalizeJob& job, FoundSpots& found) {
    constexpr float min_p_value = 0.01f;  // a hit does not fit a spot
    Rois& rois = found.rois;
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    double light_beside = -1;
    std::vector<std::pair<std::size_t, std::size_t>> hits;  // window, pixel
    for (std::size_t k = 0; k < rois.count(); ++k) {
        if (!has_position(found.fits.status[k]) || found.fits.p_value[k] >= min_p_value) continue;
        if (light_beside < 0) light_beside = min_light_beside(narrowest_width_px(detect_options(job).filter));
        if (const std::size_t hit = find_hit(found, k, light_beside); hit < area) hits.emplace_back(k, hit);
    }
    if (hits.empty()) return;
    found.hit.assign(rois.count(), 0);
    for (const auto& [window, pixel] : hits) {
        found.hit[window] = 1;
        const int x = rois.x_corner[window] + int(pixel) % rois.size,
                  y = rois.y_corner[window] + int(pixel) / rois.size;
        const auto [first, end] = std::equal_range(rois.frame.begin(), rois.frame.end(), rois.frame[window]);
        for (auto k = std::size_t(first - rois.frame.begin()); k < std::size_t(end - rois.frame.begin()); ++k) {
            if (leave_out(rois, k, x, y)) found.fits.status[k] = FitStatus::bad_input;
            if (found.wide.size > 0) leave_out(found.wide, k, x, y);
        }
    }
}

}  // namespace

void leave_out_unusable(const LocalizeJob& job, FoundSpots& found) {
    found.saturated.clear(), found.hit.clear();
    if (!job.options.keep_defective) leave_out_hits(job, found);
    if (!(job.pixels.saturation_adu > 0)) return;
    std::vector<std::uint32_t> of_wide;
    leave_out_saturated(job, found.rois, found.saturated);
    if (found.wide.size > 0) leave_out_saturated(job, found.wide, of_wide);
    for (std::size_t k = 0; k < found.saturated.size(); ++k)
        if (found.saturated[k] > 0) found.fits.status[k] = FitStatus::bad_input;
}

double saturated_light(const LocalizeJob& job, const FoundSpots& found, std::size_t row) {
    const std::size_t window = found.fits.window_index(row);
    if (found.saturated.empty() || found.saturated[window] == 0) return 0;
    const int size = found.rois.size;
    std::array<double, max_parameters> theta{};
    for (int p = 0; p < parameter_count(found.fits.model); ++p)
        theta[std::size_t(p)] = double(found.fits.theta[std::size_t(p)][row]);
    theta[2] = 1;
    std::vector<double> light(std::size_t(size) * std::size_t(size), 0);
    PsfInDouble(job.options.psf, job.options.pixel_size_nm)
        .at(found.rois.x_corner[window] + theta[0], found.rois.y_corner[window] + theta[1])
        .add_photons(theta.data(), 0, 0, size, size, light.data());
    double sum = 0;
    for (std::size_t p = 0; p < light.size(); ++p)
        if (std::isnan(found.rois.pixels[window * light.size() + p])) sum += light[p];
    return sum;
}

}  // namespace glint
