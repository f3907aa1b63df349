// Overlapping spots: biased if fitted alone, near the CRLB if fitted with their neighbours.
// SPDX-License-Identifier: MIT
#include "pipeline/neighbors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "glint/fit.hpp"
#include "glint/localizations.hpp"

using namespace glint;

namespace {

constexpr int size = 7, separation_px = 4, pairs = 1000;
constexpr double sigma_px = 1.3, photons = 1000, background = 10;

double pixel(int i, double center) {
    const auto edge = [&](double at) { return std::erf((at - center) / (std::sqrt(2.0) * sigma_px)); };
    return (edge(i + 0.5) - edge(i - 0.5)) / 2;
}

/// Returns one pair per frame: spots at (3, 3) and (3 + separation, 3), each with its ROI.
Rois simulate_pairs() {
    std::mt19937 random(7);
    Rois rois;
    rois.size = size;
    for (std::uint32_t frame = 0; frame < pairs; ++frame) {
        float counts[size][size + separation_px];
        for (int j = 0; j < size; ++j)
            for (int i = 0; i < size + separation_px; ++i) {
                const double spots = photons * pixel(j, 3) * (pixel(i, 3) + pixel(i, 3 + separation_px));
                counts[j][i] = float(std::poisson_distribution<int>(background + spots)(random));
            }
        for (int corner : {0, separation_px}) {
            for (int j = 0; j < size; ++j)
                for (int i = 0; i < size; ++i) rois.pixels.push_back(counts[j][corner + i]);
            rois.x_corner.push_back(corner), rois.y_corner.push_back(0);
            rois.x_start.push_back(3), rois.y_start.push_back(3);
            rois.frame.push_back(frame);
        }
    }
    return rois;
}

double rmse_over_crlb(const Fits& fits) {
    double squares = 0;
    for (std::size_t k = 0; k < fits.count(); ++k) squares += std::pow((fits.theta[0][k] - 3) / fits.crlb[0][k], 2);
    return std::sqrt(squares / double(fits.count()));
}

}  // namespace

TEST(Neighbors, overlapping_spots_come_near_the_bound) {
    const Rois rois = simulate_pairs();
    Psf psf;
    psf.sigma_nm = sigma_px * 100;
    Fits fits = fit(rois, psf, 100);
    const double alone = rmse_over_crlb(fits);
    refit_with_neighbors(
        rois, psf, 100, 5, [&](const Rois& crowded) { return fit(crowded, psf, 100); }, fits);
    const double together = rmse_over_crlb(fits);
    EXPECT_GT(alone, 1.6);      // the neighbour's tail shifts the position towards it
    EXPECT_LT(together, 1.15);  // the CRLB with a known neighbour is slightly lower than that of the pair
    EXPECT_GT(together, 1 - 4 / std::sqrt(2.0 * 2 * pairs));
}

// A frame of noise with tens of thousands of spots.
TEST(Neighbors, are_found_without_comparing_each_with_each) {
    constexpr int spots = 20'000, edge_px = 1000;
    std::mt19937 random(11);
    std::uniform_int_distribution<int> place(0, edge_px - size);
    std::uniform_real_distribution<float> within(0, size - 1), width(0.8f, 2.0f);
    Rois rois;
    rois.size = size;
    Fits fits;
    fits.resize(PsfModel::GaussianXYNBSXSY, spots);
    for (std::size_t k = 0; k < spots; ++k) {
        rois.x_corner.push_back(place(random)), rois.y_corner.push_back(place(random));
        rois.frame.push_back(k < spots / 10 ? 0 : 1);
        for (int p : {0, 1}) fits.theta[p][k] = within(random);
        for (int p : {4, 5}) fits.theta[p][k] = width(random);
        fits.status[k] = k % 50 ? FitStatus::converged : FitStatus::singular;  // failed fits reach no neighbours
        if (k % 50 == 0) fits.theta[0][k] = std::nanf("");
    }
    Psf psf{PsfModel::GaussianXYNBSXSY, 130, {}};
    const NeighborsFound found = neighbors_of(rois, fits, psf, 100);
    const auto reaches = [&](std::size_t q, std::size_t k, int axis, const std::vector<std::int32_t>& corner) {
        const double center = double(corner[q]) + fits.theta[axis][q], reach = 3.5 * fits.theta[4 + axis][q];
        return center > corner[k] - 0.5 - reach && center < corner[k] + size - 0.5 + reach;
    };
    for (std::size_t k = 0; k < spots; k += 97) {
        std::vector<std::size_t> expected;
        for (std::size_t q = 0; q < spots; ++q)
            if (q != k && q % 50 && rois.frame[q] == rois.frame[k] && reaches(q, k, 0, rois.x_corner) &&
                reaches(q, k, 1, rois.y_corner))
                expected.push_back(q);
        EXPECT_EQ(found.of[k], expected);
    }
    // A spot is compared with the spots of all cells that its box touches: at most the box's width and two cells.
    const double box_px = 2 * (3.5 * 2 + 1) + size, cell_px = std::max<double>(size, edge_px / std::sqrt(spots / 10.0));
    const double most = spots * spots * std::pow((box_px + 2 * cell_px) / (edge_px - size), 2);
    EXPECT_LT(double(found.pairs_compared), most);
    EXPECT_LT(most, 0.02 * spots * spots);
}

// Window 1 has two molecules, which are fitted together and are not neighbours of each other. The molecule of window 0
// reaches into window 1.
TEST(Neighbors, a_window_may_have_any_number_of_molecules) {
    Rois rois;
    rois.size = 9;
    rois.pixels.assign(2 * 81, 10);
    rois.x_corner = {0, 5}, rois.y_corner = {0, 0}, rois.frame = {3, 3};
    Fits fits;
    fits.resize(PsfModel::GaussianXYNB, 3);
    fits.window = {0, 1, 1};
    fits.theta[0] = {4, 2, 8.5f}, fits.theta[1] = {4, 4, 4}, fits.theta[2] = {500, 500, 500},
    fits.theta[3] = {10, 10, 10};
    Psf psf;
    psf.sigma_nm = sigma_px * 100;
    const NeighborsFound found = neighbors_of(rois, fits, psf, 100);
    EXPECT_EQ(found.of, (std::vector<std::vector<std::size_t>>{{1}, {0}}));

    FitStatus end = FitStatus::converged;
    const auto fit_again = [&](const Rois& crowded) {
        Fits again;
        again.resize(PsfModel::GaussianXYNB, 2);
        if (crowded.additive[4 * 9 + 7] > crowded.additive[4 * 9 + 0]) {  // the light is on the right: window 0
            again.resize(PsfModel::GaussianXYNB, 1);
            again.theta[0] = {4.5f};
        } else {
            again.window = {0, 0};
            again.theta[0] = {2.5f, 6.5f};
            again.status = {FitStatus::converged, end};
        }
        return again;
    };
    Fits refitted = fits;
    refit_with_neighbors(rois, psf, 100, 1, fit_again, refitted);
    EXPECT_EQ(refitted.theta[0], (std::vector<float>{4.5f, 2.5f, 6.5f}));
    refitted = fits, end = FitStatus::at_bound;
    refit_with_neighbors(rois, psf, 100, 1, fit_again, refitted);
    EXPECT_EQ(refitted.theta[0], (std::vector<float>{4.5f, 2, 8.5f})) << "all of a window or none";

    const Localizations table = to_localizations(fits, rois, psf, 100, true);
    EXPECT_EQ(table.x_px, (std::vector<float>{4, 7, 13.5f}));
    EXPECT_EQ(table.frame, (std::vector<std::uint32_t>{3, 3, 3}));
}

TEST(Neighbors, without_rounds_nothing_is_done) {
    const Rois rois = simulate_pairs();
    Psf psf;
    psf.sigma_nm = sigma_px * 100;
    Fits fits = fit(rois, psf, 100);
    const Fits before = fits;
    refit_with_neighbors(
        rois, psf, 100, 0, [&](const Rois&) -> Fits { throw std::logic_error("nothing to fit"); }, fits);
    EXPECT_EQ(before.theta, fits.theta);
}

TEST(Neighbors, lone_spots_are_left_as_they_are) {
    Rois rois = simulate_pairs();
    for (std::size_t k = 0; k < rois.count(); ++k) rois.frame[k] = std::uint32_t(k);  // each in its own frame
    Psf psf;
    psf.sigma_nm = sigma_px * 100;
    const Fits before = fit(rois, psf, 100);
    Fits after = before;
    refit_with_neighbors(
        rois, psf, 100, 3, [&](const Rois& crowded) { return fit(crowded, psf, 100); }, after);
    EXPECT_EQ(before.theta, after.theta);
    EXPECT_EQ(before.p_value, after.p_value);
}
