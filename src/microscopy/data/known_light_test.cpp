// Known light leaves the likelihood of eq. 2.2 equal to that with the known signal m.
// SPDX-License-Identifier: MIT
#include "data/known_light.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace glint {
namespace {

constexpr int width = 5, height = 3;
constexpr std::size_t pixels = 15;

std::vector<Camera> cameras() {
    Camera ideal, em, scmos, masked;
    ideal.offset_adu.scalar = 100, ideal.gain_e_per_adu.scalar = 0.5f, ideal.readnoise_e.scalar = 1.5f;
    em = ideal, em.kind = CameraKind::EMCCD, em.em_gain = 20, em.relative_qe.scalar = 0.8f;
    scmos = ideal, scmos.kind = CameraKind::SCMOS, scmos.sensor_width = width, scmos.sensor_height = height;
    for (std::size_t k = 0; k < pixels; ++k) {
        scmos.offset_adu.map.push_back(90 + float(k));
        scmos.relative_qe.map.push_back(0.8f + 0.02f * float(k));
    }
    masked = scmos, masked.masked.assign(pixels, 0), masked.masked[7] = 1;
    return {ideal, em, scmos, masked};
}

}  // namespace

TEST(KnownLight, is_the_known_signal_of_the_likelihood) {
    std::vector<float> light(pixels), before(pixels), after(pixels);
    for (std::size_t k = 0; k < pixels; ++k) light[k] = 3 * float(k);
    std::vector<std::uint16_t> counts(pixels);
    for (std::size_t k = 0; k < pixels; ++k) counts[k] = std::uint16_t(300 + 17 * k);
    for (const Camera& camera : cameras()) {
        const CameraView view(camera, width, height), known = with_known_light(view, light);
        view.to_photoelectrons(reinterpret_cast<const std::byte*>(counts.data()), PixelType::uint16, before);
        known.to_photoelectrons(reinterpret_cast<const std::byte*>(counts.data()), PixelType::uint16, after);
        EXPECT_EQ(known.masked_pixels(), view.masked_pixels());
        for (std::size_t k = 0; k < pixels; ++k) {
            const CameraView::Pixel a = view.pixel(k), b = known.pixel(k);
            if (!camera.masked.empty() && camera.masked[k]) {
                EXPECT_EQ(b.variance_e2, masked_variance_e2);
                continue;
            }
            EXPECT_NEAR(after[k], before[k] - light[k], 1e-3);
            const double f = double(view.excess_noise()) / double(a.qe);
            EXPECT_NEAR(double(after[k]) / f + double(b.variance_e2) / (f * f),
                        double(before[k]) / f + double(a.variance_e2) / (f * f), 1e-3)
                << "d' of eq. 2.2";
            EXPECT_NEAR(double(b.variance_e2) / (f * f), double(light[k]) / f + double(a.variance_e2) / (f * f), 1e-3)
                << "mu' without a model's light";
        }
    }
}

}  // namespace glint
