// Simulates regions of interest with known truth.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "glint/simulate.hpp"
#include "simulate/exposure.hpp"

namespace glint {
namespace {

using Truth = std::array<std::vector<float>, max_parameters>;

void require(const RoiSimulation& options) {
    if (options.size < min_roi_size || options.size > max_roi_size)
        throw OptionError(
            fmt::format("a ROI of {} px: {} to {} are possible", options.size, min_roi_size, max_roi_size));
    if (options.count > 1'000'000'000)
        throw OptionError(fmt::format("{} ROIs: simulate at most 1000000000 at a time", options.count));
    if (!(options.photons_min >= 0 && options.photons_max >= options.photons_min && options.photons_max <= 1e9))
        throw OptionError(fmt::format("photons from {} to {}: give a range within 0 to 1e9", options.photons_min,
                                      options.photons_max));
    if (!(options.background >= 0 && options.background <= 1e9))
        throw OptionError(
            fmt::format("a background of {}: give 0 to 1e9 photoelectrons per pixel", options.background));
    if (!(std::isfinite(options.spread_px) && std::isfinite(options.z_range_nm)))
        throw OptionError("the spread of positions and of z must be finite");
}

/// Returns the camera over its whole sensor, or over one ROI if it has no maps. The constructor checks its values.
CameraView whole_sensor(Camera& camera, int roi_size) {
    camera.roi_x = camera.roi_y = 0;
    if (!camera.has_maps()) return {camera, roi_size, roi_size};
    if (camera.sensor_width < roi_size || camera.sensor_height < roi_size)
        throw OptionError(fmt::format("the camera maps cover {}x{} px, a ROI {}x{}", camera.sensor_width,
                                      camera.sensor_height, roi_size, roi_size));
    return {camera, camera.sensor_width, camera.sensor_height};
}

/// Generates ROIs into preallocated columns; thread-safe for different k.
class RoiMaker {
  public:
    RoiMaker(const RoiSimulation& options, const Psf& psf, double pixel_size_nm, const Camera& camera)
        : options_(options),
          parameters_(parameter_count(psf.model)),
          psf_(psf, pixel_size_nm),
          field_(psf.has_field() ? psf.table->field() : PsfField{}),
          camera_(camera),
          view_(whole_sensor(camera_, options.size)) {}

    void allocate(Rois& rois, Truth& truth) const {
        const std::size_t pixels = options_.count * options_.size * options_.size;
        rois.size = options_.size;
        rois.pixels.resize(pixels);
        rois.excess_noise = view_.excess_noise(), rois.qe_scalar = view_.qe_scalar();
        rois.variance_scalar = view_.variance_scalar();
        if (!view_.variance_map().empty()) rois.variance.resize(pixels);
        if (!view_.qe_map().empty()) rois.qe.resize(pixels);
        if (camera_.has_maps() || field_.cells() > 1)
            rois.x_corner.resize(options_.count), rois.y_corner.resize(options_.count);
        for (int p = 0; p < max_parameters; ++p) truth[p].assign(p < parameters_ ? options_.count : 0, 0.0f);
    }

    void make(std::size_t k, Rois& rois, Truth& truth) const {
        const int size = options_.size;
        double mean[max_roi_size * max_roi_size];
        std::fill_n(mean, size * size, options_.background);
        const std::size_t corner = place(k);
        PsfInDouble psf = psf_;
        if (!rois.x_corner.empty()) {
            if (camera_.has_maps()) {
                rois.x_corner[k] = std::int32_t(corner % std::size_t(camera_.sensor_width));
                rois.y_corner[k] = std::int32_t(corner / std::size_t(camera_.sensor_width));
            } else {
                place_in_cells(k, rois);
            }
            psf = psf_.at(rois.x_corner[k] + 0.5 * (size - 1), rois.y_corner[k] + 0.5 * (size - 1));
        }
        add_spot(draw_truth(psf, k, truth), size, size, {mean, std::size_t(size) * size});
        Random random(options_.seed, Stream::roi_noise, k);
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < size; ++i) {
                const std::size_t sensor_pixel = corner + std::size_t(j) * camera_.sensor_width + i;
                const std::size_t out = (k * size + j) * size + i;
                const double electrons = expose(camera_, sensor_pixel, mean[j * size + i], random);
                const double response = camera_.em_gain * at(camera_.relative_qe, sensor_pixel);
                rois.pixels[out] = float(electrons / response);
                if (!rois.variance.empty()) rois.variance[out] = view_.variance_map()[sensor_pixel];
                if (!rois.qe.empty()) rois.qe[out] = view_.qe_map()[sensor_pixel];
            }
    }

  private:
    /// Draws the parameters of ROI k. The spot is computed from the values rounded to float, so that the truth is
    /// exact.
    Spot draw_truth(const PsfInDouble& psf, std::size_t k, Truth& truth) const {
        Random random(options_.seed, Stream::roi_truth, k);
        const double centre = (options_.size - 1) / 2.0, spread = options_.spread_px;
        const float x = truth[0][k] = float(random.uniform(centre - spread, centre + spread));
        const float y = truth[1][k] = float(random.uniform(centre - spread, centre + spread));
        const float photons = truth[2][k] = float(random.uniform(options_.photons_min, options_.photons_max));
        const float z_um = float(random.uniform(-options_.z_range_nm / 1000, options_.z_range_nm / 1000));
        truth[3][k] = float(options_.background);
        const Spot spot = make_spot(psf, x, y, z_um, photons);
        for (int p = 4; p < parameters_; ++p) truth[std::size_t(p)][k] = float(spot.shape[std::size_t(p - 4)]);
        return spot;
    }

    /// Sets ROI k's corner to a random place in the field of the PSF.
    void place_in_cells(std::size_t k, Rois& rois) const {
        Random random(options_.seed, Stream::roi_place, k);
        const auto along = [&](double first_px, int cells) {
            return std::int32_t(
                std::lround(first_px + random.uniform() * field_.cell_px * cells - 0.5 * options_.size));
        };
        rois.x_corner[k] = along(field_.left_px, field_.cells_x),
        rois.y_corner[k] = along(field_.top_px, field_.cells_y);
    }

    /// Returns the sensor pixel of ROI k's pixel (0, 0): a random position on the maps.
    std::size_t place(std::size_t k) const {
        if (!camera_.has_maps()) return 0;
        Random random(options_.seed, Stream::roi_place, k);
        const auto x = std::size_t(random.uniform() * (camera_.sensor_width - options_.size + 1));
        const auto y = std::size_t(random.uniform() * (camera_.sensor_height - options_.size + 1));
        return y * camera_.sensor_width + x;
    }

    RoiSimulation options_;
    int parameters_;
    PsfInDouble psf_;
    PsfField field_;  // of the PSF; one cell if it is the same everywhere
    Camera camera_;
    CameraView view_;
};

}  // namespace

Rois simulate_rois(const RoiSimulation& options, const Psf& psf, double pixel_size_nm, const Camera& camera,
                   Truth& truth) {
    require(options);
    check_psf(psf, pixel_size_nm);
    const RoiMaker maker(options, psf, pixel_size_nm, camera);
    Rois rois;
    maker.allocate(rois, truth);
    in_own_arena([&] {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, options.count, 256), [&](const auto& range) {
            for (std::size_t k = range.begin(); k != range.end(); ++k) maker.make(k, rois, truth);
        });
    });
    return rois;
}

}  // namespace glint
