// Derived values of a PSF: filter, extent, bounds.
// SPDX-License-Identifier: MIT
#include "psf/in_double.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"

using namespace glint;

namespace {

constexpr double pixel_nm = 100;

const Psf gaussian{PsfModel::GaussianXYNB, 130, {}, {}};
const Psf two_widths{PsfModel::GaussianXYNBSXSY, 130, {}, {}};
const Psf astigmatic{PsfModel::AstigmaticXYZNB, 0, {130, 140, 200, 400, 0.1, 0.2, 0.3, 0.4, -500, 400}, {}};

/// Returns the part of a spot's photons within its extent, from pixels a 100th as large as the spot's.
double part_within(const Psf& psf, double z_um, PsfPart part) {
    constexpr double small_nm = pixel_nm / 100;
    const PsfInDouble model(psf, small_nm);
    double theta[4 + max_shape_parameters] = {2000, 2000, 1, 0};
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
    EXPECT_DOUBLE_EQ(extent_nm(gaussian, PsfPart::most), 2.3 * 130);
}

TEST(PsfInDouble, the_extent_is_that_of_the_shape) {
    const double shape[] = {1.0, 3.0};
    const PsfExtent extent = PsfInDouble(two_widths, pixel_nm).extent(shape, PsfPart::nearly_all);
    EXPECT_DOUBLE_EQ(extent.x_px, 3.5);
    EXPECT_DOUBLE_EQ(extent.y_px, 10.5);
}

TEST(PsfInDouble, the_filter_has_the_width_of_spots) {
    EXPECT_DOUBLE_EQ(gaussian.matched_filter(pixel_nm).width_px, 1.3);
    const AstigmaticCurve& curve = astigmatic.curve;
    const double width_px = astigmatic.matched_filter(pixel_nm).width_px;
    EXPECT_NEAR(width_px * width_px, curve.sigma_x_nm(0) * curve.sigma_y_nm(0) / (pixel_nm * pixel_nm), 1e-12);
    EXPECT_LT(1000 * width_in_focus_um(astigmatic) / pixel_nm, width_px) << "z = 0 lies between the foci";
}

TEST(PsfInDouble, bounds_are_those_of_the_calibration_or_the_limits) {
    const PsfBounds z = PsfInDouble(astigmatic, pixel_nm).bounds(0, {0.3, 9});
    EXPECT_EQ(z.low, -0.5);
    EXPECT_EQ(z.high, 0.4);
    const PsfInDouble model(two_widths, pixel_nm);
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
    EXPECT_NO_THROW(check_psf_of_fit(gaussian, pixel_nm));
    EXPECT_NO_THROW(check_psf_of_fit(astigmatic, pixel_nm));
    EXPECT_THROW(check_psf_of_fit(gaussian, 1000), OptionError);
    EXPECT_THROW(check_psf_of_fit(gaussian, 5), OptionError);
}

// Only the limits distinguish 0.1 um from 0.1 nm, because the ratio of width and pixel size is the same.
TEST(PsfInDouble, lengths_that_are_micrometres_are_refused) {
    const auto says = [](const Psf& psf, double pixel, std::initializer_list<const char*> words) {
        test::expect_error<OptionError>([&] { check_psf(psf, pixel); }, words);
        test::expect_error<OptionError>([&] { psf.matched_filter(pixel); }, words);
    };
    const Psf narrow{PsfModel::GaussianXYNB, 0.13, {}, {}};
    Psf lens{PsfModel::AstigmaticXYZNB, 0, {0.13, 0.14, 0.2, 0.4, 0.1, 0.2, 0.3, 0.4, -500, 400}, {}};
    says(gaussian, 0.1, {"a pixel size of 0.1 nm", "give nanometres, 1 to 100000", "`pixel_size=100nm`"});
    says(narrow, 0.1, {"a pixel size of 0.1 nm"});
    says(narrow, pixel_nm, {"a PSF width of 0.13 nm", "give nanometres, at least 1", "`sigma=130nm`"});
    says(lens, pixel_nm, {"sx0 = 0.13 nm", "give nanometres, as in sx0 = 140"});
    lens.curve = astigmatic.curve, lens.curve.z_min_nm = -0.5, lens.curve.z_max_nm = 0.4;
    says(lens, pixel_nm, {"z from -0.5 to 0.4 nm", "the range of z 10 nm"});
    EXPECT_NO_THROW(check_psf({PsfModel::GaussianXYNB, 1, {}, {}}, 1)) << "the limits themselves";
    EXPECT_THROW(check_psf(gaussian, 1e5 + 1), OptionError);
    EXPECT_THROW(check_psf(gaussian, NAN), OptionError);
}
