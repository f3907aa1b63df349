// Integrates spots over pixels; simulates shot noise, electron multiplication, read noise and the conversion to counts.
// SPDX-License-Identifier: MIT
#include "simulate/exposure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace glint {
namespace {

/// The pixels [first, first + fractions.size()) of one axis within the cut-off, and the fraction of the photons in
/// each.
struct Profile {
    int first = 0;
    std::vector<double> fractions;

    void set(double centre, double width, double extent, int pixels) {
        first = int(std::clamp(std::floor(centre - extent), 0.0, double(pixels)));
        const int last = int(std::clamp(std::ceil(centre + extent), -1.0, double(pixels - 1)));
        fractions.resize(std::size_t(std::max(last - first + 1, 0)));
        const double scale = 1 / (std::numbers::sqrt2 * width);
        double below = std::erf((first - 0.5 - centre) * scale);
        for (std::size_t i = 0; i < fractions.size(); ++i) {
            const double above = std::erf((first + double(i) + 0.5 - centre) * scale);
            fractions[i] = (above - below) / 2;
            below = above;
        }
    }
};

/// The pixels whose centres lie within `reach` of a place, along one axis.
struct PixelRange {
    int first, count;

    PixelRange(double centre, double reach, int pixels)
        : first(int(std::clamp(std::ceil(centre - reach), 0.0, double(pixels)))),
          count(int(std::clamp(std::floor(centre + reach), -1.0, double(pixels - 1))) - first + 1) {}
};

/// Adds a spot of a model that is not separable, pixel by pixel in the same window.
void add_picture(const Spot& spot, int left, int top, int columns, int rows, int width, std::span<double> image) {
    std::array<double, 4 + max_shape_parameters> theta{spot.x_px, spot.y_px, spot.photons, 0};
    std::copy(spot.shape.begin(), spot.shape.end(), theta.begin() + 4);
    std::vector<double> window(std::size_t(columns) * rows, 0.0);
    spot.psf.add_photons(theta.data(), left, top, columns, rows, window.data());
    for (int j = 0; j < rows; ++j)
        for (int i = 0; i < columns; ++i)
            image[(std::size_t(top) + j) * width + left + i] += window[std::size_t(j) * columns + i];
}

}  // namespace

Spot make_spot(const PsfInDouble& psf, double x_px, double y_px, double z_um, double photons) {
    Spot spot{x_px, y_px, photons, psf};
    spot.psf.typical_shape(z_um, spot.shape.data());
    return spot;
}

void add_spot(const Spot& spot, int width, int height, std::span<double> image) {
    if (const double reach_px = spot.psf.reach_px(); reach_px > 0) {
        const PixelRange across(spot.x_px, reach_px, width), down(spot.y_px, reach_px, height);
        if (across.count > 0 && down.count > 0)
            add_picture(spot, across.first, down.first, across.count, down.count, width, image);
        return;
    }
    thread_local Profile across, down;  // reused for the many spots of a frame
    const PsfWidths widths = spot.psf.widths(spot.shape.data());
    const PsfExtent extent = spot.psf.extent(spot.shape.data(), PsfPart::all);
    across.set(spot.x_px, widths.x_px, extent.x_px, width);
    down.set(spot.y_px, widths.y_px, extent.y_px, height);
    const int columns = int(across.fractions.size()), rows = int(down.fractions.size());
    if (!spot.psf.separable()) return add_picture(spot, across.first, down.first, columns, rows, width, image);
    for (int j = 0; j < rows; ++j) {
        const double row_photons = spot.photons * down.fractions[std::size_t(j)];
        double* row = image.data() + (std::size_t(down.first) + j) * width + across.first;
        for (int i = 0; i < columns; ++i) row[i] += row_photons * across.fractions[std::size_t(i)];
    }
}

double expose(const Camera& camera, std::size_t sensor_pixel, double mean_photoelectrons, Random& random) {
    double electrons = random.poisson(mean_photoelectrons * at(camera.relative_qe, sensor_pixel));
    if (camera.kind == CameraKind::EMCCD) electrons = random.gamma(electrons);
    electrons *= camera.em_gain;
    const double readnoise = at(camera.readnoise_e, sensor_pixel);
    return readnoise > 0 ? electrons + readnoise * random.normal() : electrons;
}

void expose_frame(const Camera& camera, int width, std::span<const double> mean_photoelectrons, Random& random,
                  std::uint16_t* counts) {
    for (std::size_t k = 0; k < mean_photoelectrons.size(); ++k) {
        const std::size_t sensor_pixel =
            (k / width + camera.roi_y) * std::size_t(camera.sensor_width) + k % width + camera.roi_x;
        const double electrons = expose(camera, sensor_pixel, mean_photoelectrons[k], random);
        const double adu = electrons / at(camera.gain_e_per_adu, sensor_pixel) + at(camera.offset_adu, sensor_pixel);
        counts[k] = std::uint16_t(std::clamp(std::nearbyint(adu), 0.0, 65535.0));
    }
}

}  // namespace glint
