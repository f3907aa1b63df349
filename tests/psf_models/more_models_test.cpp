// Models that are only registered: tables, fits of overlapping spots and the program treat them as built-in models.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/localization_io.hpp"
#include "glint/simulate.hpp"
#include "pipeline/neighbors.hpp"
#include "psf/in_double.hpp"
#include "tests/expect_error.hpp"
#include "tests/run_program.hpp"

using namespace glint;
using glint::test::Ended;

namespace {

constexpr double pixel_nm = 100;

Psf psf_of(const char* name, std::vector<double> numbers = {}) {
    return {parse_psf_model(name), 120, {}, std::move(numbers)};
}

/// Returns pixels without noise, for which maximum likelihood must find the truth exactly.
Rois picture_of(const Psf& psf, int size, const std::vector<std::vector<double>>& molecules, double background) {
    Rois rois;
    rois.size = size;
    std::vector<double> image(std::size_t(size) * size, background);
    for (const std::vector<double>& theta : molecules)
        PsfInDouble(psf, pixel_nm).add_photons(theta.data(), 0, 0, size, size, image.data());
    rois.pixels.assign(image.begin(), image.end());
    return rois;
}

}  // namespace

TEST(MoreModels, say_what_they_are) {
    const PsfDescription& elliptic = describe(parse_psf_model("EllipticXYNBQ"));
    EXPECT_EQ(elliptic.parameters, (std::vector<std::string_view>{"x", "y", "photons", "bg", "q"}));
    ASSERT_EQ(elliptic.numbers.size(), 1u);
    EXPECT_EQ(elliptic.numbers[0].default_value, 1.5);
    EXPECT_FALSE(elliptic.calibrated || elliptic.has_z);
    const Rois rois = picture_of(psf_of("EllipticXYNBQ"), 9, {{4, 4, 1000, 0, 1}}, 10);
    test::expect_error<OptionError>([&] { fit(rois, psf_of("EllipticXYNBQ", {7}), pixel_nm); },
                                    {"`psf_number=ratio=7`", "EllipticXYNBQ", "0.2 to 5", "1.5 unless given"});
}

TEST(MoreModels, find_the_truth_of_spots_without_noise) {
    for (const char* name : {"EllipticXYNBQ", "CorrelatedXYNBR"})
        for (const std::vector<double>& truth :
             {std::vector<double>{5, 5, 1000, 10, 0.8}, {4.6, 5.4, 3000, 2, 0.6}, {5.3, 4.7, 800, 5, 0.3}}) {
            const Psf psf = psf_of(name);
            const Fits fits = fit(picture_of(psf, 11, {truth}, truth[3]), psf, pixel_nm);
            ASSERT_EQ(fits.status[0], FitStatus::converged) << name;
            for (std::size_t k = 0; k < truth.size(); ++k)
                EXPECT_NEAR(fits.theta[k][0], truth[k], 0.01 * fits.crlb[k][0]) << name << " " << k;
        }
}

TEST(MoreModels, may_have_an_extent_of_their_own) {
    const double shape[] = {0.4};
    const PsfExtent own = PsfInDouble(psf_of("CorrelatedXYNBR"), pixel_nm).extent(shape, PsfPart::nearly_all);
    EXPECT_DOUBLE_EQ(own.x_px, 2 * 3.5 * 1.2);
    EXPECT_DOUBLE_EQ(own.y_px, 2 * 3.5 * 1.2);
    const PsfExtent of_widths = PsfInDouble(psf_of("EllipticXYNBQ"), pixel_nm).extent(shape, PsfPart::nearly_all);
    EXPECT_DOUBLE_EQ(of_widths.x_px, 3.5 * 0.4 * 1.2);
}

TEST(MoreModels, have_columns_of_their_own) {
    const Psf psf = psf_of("EllipticXYNBQ", {1.4});
    Fits fits;
    fits.resize(psf.model, 2);
    fits.theta[4] = {1.0f, 1.5f}, fits.crlb[4] = {0.1f, 0.2f};
    Rois rois;
    rois.size = 9;
    const Localizations table = to_localizations(fits, rois, psf, pixel_nm, true);
    EXPECT_EQ(table.extra.at("q").values, (std::vector<double>{1.0, 1.5}));
    EXPECT_EQ(table.extra.at("q_unc").values[1], double(0.2f));
    EXPECT_FLOAT_EQ(table.sx_px[1], 1.5f * 1.2f);
    EXPECT_FLOAT_EQ(table.sy_px[1], 1.5f * 1.2f * 1.4f);
}

TEST(MoreModels, that_are_no_product_of_gaussians_know_their_neighbours) {
    const Psf psf = psf_of("CorrelatedXYNBR");
    const std::vector<std::vector<double>> truths = {{5, 5, 2000, 0, 0.4}, {9.0, 5, 2000, 0, 0.4}};
    Rois rois = picture_of(psf, 11, truths, 10);
    Rois second = picture_of(psf, 11, {{1, 5, 2000, 0, 0.4}, {5, 5, 2000, 0, 0.4}}, 10);
    rois.pixels.insert(rois.pixels.end(), second.pixels.begin(), second.pixels.end());
    rois.x_corner = {0, 4}, rois.y_corner = {0, 0}, rois.frame = {0, 0};
    const auto from_the_middle = [&](const Rois& some) {
        Rois started = some;
        started.x_start.assign(some.count(), 5), started.y_start.assign(some.count(), 5);
        return fit(started, psf, pixel_nm);
    };
    Fits fits = from_the_middle(rois);
    EXPECT_GT(std::abs(fits.theta[0][0] - 5), fits.crlb[0][0]) << "alone, drawn towards the neighbour";
    refit_with_neighbors(rois, psf, pixel_nm, 30, from_the_middle, fits);
    for (std::size_t row : {0, 1})
        for (std::size_t k : {0, 1, 2, 4})
            EXPECT_NEAR(fits.theta[k][row], truths[0][k], 0.1 * fits.crlb[k][row]) << row << " " << k;
}

TEST(MoreModels, are_the_programs) {
    const test::TemporaryFolder folder;
    const std::string program =
        "exec " + std::filesystem::read_symlink("/proc/self/exe").replace_filename("glint_more").string() + " ";
    const std::string help = run(folder, program + "fit --help").out;
    EXPECT_NE(help.find("EllipticXYNBQ (one free factor of two widths)"), std::string::npos);
    EXPECT_NE(help.find("EllipticXYNBQ: ratio=1.5 (0.2 to 5), the width along y over that along x"), std::string::npos);
    const std::string spots =
        " --psf EllipticXYNBQ --sigma 110nm --psf-number ratio=1.4 --pixel-size 100nm --offset 100 --gain 1";
    Ended end = run(folder, program + "simulate -o m.tif --frames 40 --size 48 --spots 4 --photons 3000:3000" + spots);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.out.find("glint localize m.tif -o locs.hdf5" + spots), std::string::npos) << end.out;
    const Localizations truth = read_truth(folder / "m_truth.csv", 100);
    EXPECT_EQ(truth.extra.at("q").values, std::vector<double>(truth.size(), 1.0));
    EXPECT_FLOAT_EQ(truth.sy_px.at(0), 1.4f * 1.1f);
    end = run(folder, program + "localize m.tif -o o.csv --backend auto -q" + spots);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const Localizations table = read_localizations(folder / "o.csv", {}, 100);
    ASSERT_GT(table.size(), 50u);
    const std::vector<double>&q = table.extra.at("q").values, &q_unc = table.extra.at("q_unc").values;
    std::vector<double> pulls;
    for (std::size_t row = 0; row < q.size(); ++row) pulls.push_back(std::abs(q[row] - 1) / q_unc[row]);
    std::sort(pulls.begin(), pulls.end());
    EXPECT_LT(pulls[pulls.size() / 2], 1.0) << "0.67 of a Gaussian";
    end = run(folder, program + "localize m.tif -o p.csv --psf-number q=2" + spots);
    EXPECT_EQ(end.exit_code, 2);
    EXPECT_NE(end.err.find("--psf-number q=2: EllipticXYNBQ has ratio"), std::string::npos) << end.err;
}
