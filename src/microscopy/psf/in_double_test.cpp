// What a PSF answers about itself: filter, extent, bounds.
// SPDX-License-Identifier: MIT
#include "psf/in_double.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "glint/error.hpp"

using namespace glint;

namespace {

constexpr double pixel_um = 0.1;

const Psf gaussian{PsfModel::GaussianXYNB, 0.13, {}, {}};
const Psf two_widths{PsfModel::GaussianXYNBSXSY, 0.13, {}, {}};
const Psf astigmatic{PsfModel::AstigmaticXYZNB, 0, {0.13, 0.14, 0.2, 0.4, 0.1, 0.2, 0.3, 0.4, -0.5, 0.4}, {}};

/// The part of a spot's photons within half the edges of a window, from pixels a 100th as large as the spot's.
double part_within(const Psf& psf, double z_um, PsfPart part) {
    constexpr double small_um = pixel_um / 100;
    const PsfInDouble model(psf, small_um);
    double theta[4 + most_shape_parameters] = {2000, 2000, 1, 0};
    model.typical_shape(z_um, theta + 4);
    const PsfExtent extent = model.extent(theta + 4, part);
    const int width = 2 * int(extent.x_px) + 1, height = 2 * int(extent.y_px) + 1;
    std::vector<double> image(std::size_t(width) * std::size_t(height), 0.0);
    model.add_photons(theta, 2000 - width / 2, 2000 - height / 2, width, height, image.data());
    return std::accumulate(image.begin(), image.end(), 0.0);
}

}  // namespace

TEST(PsfInDouble, the_extent_contains_the_light) {
    for (const Psf& psf : {gaussian, two_widths, astigmatic}) {
        EXPECT_NEAR(part_within(psf, 0.2, PsfPart::most), 0.96, 0.005);
        EXPECT_NEAR(part_within(psf, 0.2, PsfPart::nearly_all), 0.9991, 0.0002);
        EXPECT_NEAR(part_within(psf, 0.2, PsfPart::all), 1, 1e-8);
    }
    EXPECT_DOUBLE_EQ(extent_um(gaussian, PsfPart::most), 2.3 * 0.13);
}

TEST(PsfInDouble, the_extent_is_that_of_the_shape) {
    const double shape[] = {1.0, 3.0};
    const PsfExtent extent = PsfInDouble(two_widths, pixel_um).extent(shape, PsfPart::nearly_all);
    EXPECT_DOUBLE_EQ(extent.x_px, 3.5);
    EXPECT_DOUBLE_EQ(extent.y_px, 10.5);
}

TEST(PsfInDouble, the_filter_has_the_width_of_spots) {
    EXPECT_DOUBLE_EQ(gaussian.matched_filter(pixel_um).width_px, 1.3);
    const AstigmaticCurve& curve = astigmatic.curve;
    const double width_px = astigmatic.matched_filter(pixel_um).width_px;
    EXPECT_NEAR(width_px * width_px, curve.sigma_x_um(0) * curve.sigma_y_um(0) / (pixel_um * pixel_um), 1e-12);
    EXPECT_LT(width_in_focus_um(astigmatic) / pixel_um, width_px) << "z = 0 lies between the foci";
}

TEST(PsfInDouble, bounds_are_those_of_the_calibration_or_the_limits) {
    const PsfBounds z = PsfInDouble(astigmatic, pixel_um).bounds(0, {0.3, 9});
    EXPECT_EQ(z.low, -0.5);
    EXPECT_EQ(z.high, 0.4);
    const PsfInDouble model(two_widths, pixel_um);
    for (const int k : {0, 1}) {
        EXPECT_EQ(model.bounds(k, {0.3, 9}).low, 0.3);
        EXPECT_EQ(model.bounds(k, {0.3, 9}).high, 9);
    }
    const double inside[] = {0.3, 9}, below[] = {0.3, 0.29}, none[] = {NAN, 1};
    EXPECT_TRUE(model.allows(inside, {0.3, 9}));
    EXPECT_FALSE(model.allows(below, {0.3, 9}));
    EXPECT_FALSE(model.allows(none, {0.3, 9}));
}

TEST(PsfInDouble, a_fit_refuses_widths_that_pixels_cannot_show) {
    EXPECT_NO_THROW(check_psf_of_fit(gaussian, pixel_um));
    EXPECT_NO_THROW(check_psf_of_fit(astigmatic, pixel_um));
    EXPECT_THROW(check_psf_of_fit(gaussian, 1), OptionError);
    EXPECT_THROW(check_psf_of_fit(gaussian, 0.005), OptionError);
}
