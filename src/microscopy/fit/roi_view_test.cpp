// Tests of CPU fits of counts in the caller's memory.
// SPDX-License-Identifier: MIT
#include "glint/roi_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/simulate.hpp"
#include "tests/expect_error.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

constexpr double pixel_nm = 100;
constexpr int width = 40, height = 30, size = 9;
constexpr std::size_t n = 3000;  // several batches, the last one incomplete

Camera scalar_camera() {
    Camera camera;
    camera.offset_adu.scalar = 20, camera.gain_e_per_adu.scalar = 2, camera.readnoise_e.scalar = 1.5f;
    return camera;
}

/// A camera whose pixels all differ; without `noise`, all have the same read noise.
Camera mapped_camera(bool noise) {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = width, camera.sensor_height = height;
    for (int k = 0; k < width * height; ++k) {
        camera.offset_adu.map.push_back(20 + float(k % 7));
        camera.gain_e_per_adu.map.push_back(2 + 0.01f * float(k % 11));
        if (noise) camera.readnoise_e.map.push_back(1 + 0.3f * float(k % 5));
    }
    return camera;
}

template <class T>
struct Counted {
    std::vector<T> counts;
    Rois electrons;  ///< the expected photoelectrons, computed pixel by pixel from eq. 2.1
    RoiView view;
};

template <class T>
Counted<T> counted(const Camera& camera, const CameraView& seen) {
    std::array<std::vector<float>, max_parameters> truth;
    Counted<T> c;
    c.electrons =
        simulate_rois({.size = size, .count = n}, test::typical_psf(PsfModel::GaussianXYNB), pixel_nm, {}, truth);
    c.electrons.variance_scalar = seen.variance_scalar(), c.electrons.excess_noise = seen.excess_noise();
    c.electrons.qe_scalar = seen.qe_scalar();
    for (std::size_t r = 0; r < n; ++r) {
        const int x = int(r * 5 % (width - size)), y = int(r * 3 % (height - size));
        c.electrons.x_corner.push_back(x), c.electrons.y_corner.push_back(y);
        for (int p = 0; p < size * size; ++p) {
            const int at = (y + p / size) * width + x + p % size;
            const CameraView::Pixel pixel = seen.pixel(std::size_t(at));
            float& e = c.electrons.pixels[r * size * size + p];
            c.counts.push_back(T(std::clamp(std::round(e / pixel.factor_e_per_adu + pixel.offset_adu), 0.0f, 255.0f)));
            e = (float(c.counts.back()) - pixel.offset_adu) * pixel.factor_e_per_adu;
            if (camera.readnoise_e.is_map() || camera.relative_qe.is_map())
                c.electrons.variance.push_back(pixel.variance_e2);
            if (camera.relative_qe.is_map()) c.electrons.qe.push_back(pixel.qe);
        }
    }
    c.view.size = size, c.view.count = n, c.view.camera = &seen;
    c.view.type = sizeof(T) == 1 ? PixelType::uint8 : sizeof(T) == 2 ? PixelType::uint16 : PixelType::float32;
    c.view.pixels = reinterpret_cast<const std::byte*>(c.counts.data());
    c.view.x_corner = c.electrons.x_corner, c.view.y_corner = c.electrons.y_corner;
    return c;
}

template <class T>
void expect_as_photoelectrons(const Camera& camera) {
    const CameraView seen(camera, width, height);
    const Counted<T> c = counted<T>(camera, seen);
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    const Fits expected = fit(c.electrons, psf, pixel_nm), found = fit(c.view, psf, pixel_nm);
    EXPECT_EQ(found.theta, expected.theta);
    EXPECT_EQ(found.crlb, expected.crlb);
    EXPECT_EQ(found.log_likelihood_ratio, expected.log_likelihood_ratio);
    EXPECT_EQ(found.status, expected.status);
    EXPECT_GT(std::count(found.status.begin(), found.status.end(), FitStatus::converged), std::ptrdiff_t(n * 98 / 100));
}

}  // namespace

TEST(RoiView, counts_are_fitted_as_their_photoelectrons_bit_for_bit) {
    Camera emccd = scalar_camera();
    emccd.kind = CameraKind::EMCCD, emccd.em_gain = 1;
    Camera dim = scalar_camera(), uneven = mapped_camera(true);
    dim.relative_qe.scalar = 0.8f;
    for (int k = 0; k < width * height; ++k) uneven.relative_qe.map.push_back(0.8f + 0.1f * float(k % 5));
    for (const Camera& camera : {scalar_camera(), mapped_camera(true), mapped_camera(false), emccd, dim, uneven}) {
        expect_as_photoelectrons<std::uint8_t>(camera);
        expect_as_photoelectrons<std::uint16_t>(camera);
        expect_as_photoelectrons<float>(camera);
    }
}

TEST(RoiView, whole_numbers_without_a_camera_are_photoelectrons) {
    const CameraView photon_counter(Camera{}, width, height);
    Counted<std::uint16_t> c = counted<std::uint16_t>({}, photon_counter);
    c.view.camera = nullptr;
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    EXPECT_EQ(fit(c.view, psf, pixel_nm).theta, fit(c.electrons, psf, pixel_nm).theta);
}

TEST(RoiView, a_roi_outside_the_cameras_maps_is_refused) {
    const Camera camera = mapped_camera(true);
    const CameraView seen(camera, width, height);
    Counted<std::uint16_t> c = counted<std::uint16_t>(camera, seen);
    c.electrons.x_corner[2500] = width - size + 1;
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    test::expect_error<OptionError>([&] { fit(c.view, psf, pixel_nm); }, {"ROI 2500", "(32, ", "40 x 30"});
    c.view.x_corner = {};
    test::expect_error<OptionError>([&] { fit(c.view, psf, pixel_nm); }, {"corners"});
}

TEST(RoiView, progress_counts_up_to_all) {
    const CameraView seen(scalar_camera(), width, height);
    const Counted<std::uint16_t> c = counted<std::uint16_t>(scalar_camera(), seen);
    std::int64_t last = 0;
    FitOptions options;
    options.progress = [&](std::int64_t done, std::int64_t total, std::int64_t) {
        EXPECT_GT(done, last);
        EXPECT_EQ(total, std::int64_t(n));
        last = done;
    };
    fit(c.view, test::typical_psf(PsfModel::GaussianXYNB), pixel_nm, options);
    EXPECT_EQ(last, std::int64_t(n));
}

}  // namespace glint
